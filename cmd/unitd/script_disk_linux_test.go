package main_test

import (
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/juju/errors"
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
// unmount waits for a moment if the disk is busy: a process that another test begins has
// this one's descriptors until it is another program.
func unmount(dir string) error {
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if err := syscall.Unmount(dir, 0); !errors.Is(err, syscall.EBUSY) || time.Now().After(end) {
			return err
		}
	}
}
