//go:build !linux

package oci

func opaqueHere(string) bool { return false }
