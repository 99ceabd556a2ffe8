//go:build !linux

package main_test

import "github.com/rogpeppe/go-internal/testscript"

func mayMount() bool { return false }

func cmdSmallDisk(ts *testscript.TestScript, _ bool, _ []string) { ts.Fatalf("only on Linux") }

func unmount(string) error { return nil }
