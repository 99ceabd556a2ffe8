package oci

import "golang.org/x/sys/unix"

func opaqueHere(path string) bool { return isOpaque(path) }

func mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }
