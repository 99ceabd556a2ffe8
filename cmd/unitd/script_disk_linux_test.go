package main_test

import (
	"os"
	"path/filepath"
	"syscall"

	"github.com/rogpeppe/go-internal/testscript"
)

// mayMount says whether disks can be mounted.
func mayMount() bool { return os.Geteuid() == 0 }

// cmdSmallDisk is "small-disk DIR MIB": a disk in memory of so many MiB, which
// takeDown unmounts.
func cmdSmallDisk(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: small-disk DIR MIB")
	}
	dir := ts.MkAbs(args[0])
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(syscall.Mount("unitd-test", dir, "tmpfs", 0, "mode=0700,size="+args[1]+"m"))
	ts.Check(os.WriteFile(filepath.Join(ts.Getenv("WORK"), smallDisks), []byte(dir), 0o600))
}

// unmount unmounts a disk.
func unmount(dir string) error { return syscall.Unmount(dir, 0) }
