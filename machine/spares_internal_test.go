package machine

import (
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// TestAStartThatLacksDescriptorsIsTheHosts: whatever the system calls it, with any
// number of descriptors left. The limit is a process's, so it has one of its own.
func TestAStartThatLacksDescriptorsIsTheHosts(t *testing.T) {
	const variable = "UNITD_TEST_DESCRIPTORS"
	if os.Getenv(variable) == "" {
		t.Parallel()
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		cmd.Env = append(os.Environ(), variable+"=1")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	_ = exec.Command("true").Run() // what is opened once is open
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	next := uint64(f.Fd())
	f.Close()
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for left := range uint64(24) {
		limit.Cur = next + left
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
			t.Fatal(err)
		}
		// With the last number in use, and lower ones that are free.
		var files []*os.File
		for f, err := os.Open(os.DevNull); err == nil; f, err = os.Open(os.DevNull) {
			files = append(files, f)
		}
		for i, f := range files {
			if i < len(files)-1 {
				f.Close()
			}
		}
		if len(files) == 0 {
			continue
		}
		last := files[len(files)-1]
		cmd := exec.Command("true")
		cmd.Stdout = last
		err := cmd.Run()
		last.Close()
		if err != nil {
			seen[sysError(err).Error()] = true
			if !outOfDescriptors(err) || !isHosts(err) {
				t.Errorf("with %d descriptors left: %v", left, err)
			}
		}
	}
	if len(seen) == 0 {
		t.Error("there were always enough")
	}
	t.Log(seen)
}
