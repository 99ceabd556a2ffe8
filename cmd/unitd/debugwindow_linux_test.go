package main_test

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAWindowThatIsClosedIsNoSuccess: what ran in it reads to the end, as shells
// do, and ends well.
func TestAWindowThatIsClosedIsNoSuccess(t *testing.T) {
	t.Parallel()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	hook := filepath.Join(dir, "hook")
	if err := os.WriteFile(hook, []byte("#!/bin/sh\ntrap '' HUP\necho ready\nread line\nexit 0\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	master, slave := openTerminal(t)
	// A shell leads the session, and is the one to hear at once that it is over.
	cmd := exec.Command("sh", "-c", `"$0" debug-window "$1"; true`, filepath.Join(bin, "unitd"), filepath.Join(dir, "s"))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	slave.Close()
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	offer := map[string]any{"unit": "app/0", "hook": "start", "path": hook, "dir": dir, "env": []string{"PATH=" + os.Getenv("PATH")}}
	if err := json.NewEncoder(conn).Encode(map[string]any{"offer": offer, "code": true}); err != nil {
		t.Fatal(err)
	}
	for text := ""; len(text) < len("ready") || text[len(text)-len("ready"):] != "ready"; {
		b := make([]byte, 1)
		if _, err := master.Read(b); err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += string(b)
	}
	master.Close()
	said, err := io.ReadAll(conn)
	if err != nil || len(said) > 0 {
		t.Errorf("it says %q, %v", said, err)
	}
	_ = cmd.Wait() // how it says so is nobody's matter: its terminal has gone
}

// openTerminal is a new one; who has the master closes it.
func openTerminal(t *testing.T) (master, slave *os.File) {
	t.Helper()
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip("no terminals here: ", err)
	}
	master = os.NewFile(uintptr(fd), "/dev/ptmx")
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	return master, slave
}
