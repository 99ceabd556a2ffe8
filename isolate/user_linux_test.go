package isolate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestHostAUserWhoIsNotRootHasCells without a network, and with files that belong to
// one user: over a prepared root and, in the long run, over the host's.
func TestHostAUserWhoIsNotRootHasCells(t *testing.T) {
	t.Parallel()
	t.Run("over a root of theirs", func(t *testing.T) {
		t.Parallel()
		runAsUser(t, "prepared", `. /etc/os-release; echo $ID; echo mine >/etc/mine; echo $$ >/run/x; read mine </etc/mine; echo $mine; read host </proc/sys/kernel/hostname; echo $host
			cd /var/lib/juju/agents; read attached <unit-app-0/file; echo $attached *; [ -e $DATA/cells ] || echo hidden
			cd ../tools; read client <client; echo $client; (echo harm >client) 2>/dev/null || echo refused`,
			"ubuntu\nmine\napp-0\nattached unit-app-0\nhidden\nclient\nrefused\n")
	})
	t.Run("over the host's root", func(t *testing.T) {
		t.Parallel()
		if os.Getenv("UNITD_TEST_LONG") == "" {
			t.Skip("for UNITD_TEST_LONG: it looks at all directories of the host")
		}
		runAsUser(t, "", `id -u; . /etc/os-release; echo $ID; echo mine >/etc/mine; rm /etc/hostname; echo 1 >>/etc/group
			mkdir /usr/lib/x; touch /usr/lib/x/y /var/lib/dpkg/x; ls /usr/lib/x /etc/mine; tail -n 1 /etc/group
			find /var/lib/apt/lists /var/cache/apt -type f; ls -d /var/lib/apt/lists`,
			"0\nubuntu\n/etc/mine\n\n/usr/lib/x:\ny\n1\n/var/lib/apt/lists\n")
	})
}

// runAsUser runs commands in a cell of a user who isn't root.
func runAsUser(t *testing.T, root, commands, want string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to become somebody else")
	}
	dir, err := os.MkdirTemp("", "unitd-isolate-user-") // others can't see t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	// As people have it: then who isn't root may not take the flags from any mount of it.
	if err := unix.Mount("unitd-test", dir, "tmpfs", unix.MS_NOSUID|unix.MS_NODEV, "mode=755"); err == nil {
		t.Cleanup(func() { must(t, unix.Unmount(dir, unix.MNT_DETACH)) })
	}
	const nobody = 65534
	self, err := os.Executable()
	must(t, err)
	program := filepath.Join(dir, "program") // nor the directory of the test's binary
	// By another process: whoever is forked meanwhile would keep it open for writing.
	must(t, exec.Command("cp", self, program).Run())
	must(t, os.WriteFile(filepath.Join(dir, "client"), []byte("client\n"), 0o755))
	if root != "" {
		prepareRoot(t, filepath.Join(dir, root))
	}
	must(t, exec.Command("chown", "-R", "65534:65534", dir).Run())
	cmd := exec.Command(program, "as-user", dir, root, commands)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "NO RIGHTS") {
		t.Skipf("not here: %s", out)
	}
	if err != nil || string(out) != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
	for _, left := range []string{"cells", "prepared/etc/mine", "prepared/etc/os-release"} {
		if _, err := os.Lstat(filepath.Join(dir, left)); !os.IsNotExist(err) {
			t.Errorf("%s is left", left)
		}
	}
}

// prepareRoot makes a root directory with a shell and nothing else.
func prepareRoot(t *testing.T, dir string) {
	t.Helper()
	out, err := exec.Command("ldd", "/bin/sh").Output()
	if err != nil {
		t.Skipf("cannot tell what a shell needs: %v", err)
	}
	files := []string{"/bin/sh"}
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files = append(files, word)
		}
	}
	for _, d := range []string{"etc", "run", "proc"} {
		must(t, os.MkdirAll(filepath.Join(dir, d), 0o755))
	}
	for _, f := range files {
		to := filepath.Join(dir, f)
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		must(t, exec.Command("cp", "-L", f, to).Run())
	}
}

// asUser makes a cell and runs commands in it.
func asUser(dir, root, commands string) int {
	fail := func(err error) int {
		fmt.Println(err)
		return 1
	}
	self, err := os.Executable()
	if err != nil {
		return fail(err)
	}
	cells := &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: self}
	spec := isolate.Spec{
		Name: "app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateOn, OS: isolate.DefaultOS, Data: dir, Client: filepath.Join(dir, "client"),
	}
	if root != "" {
		spec.Root = filepath.Join(dir, root)
	}
	if _, err := cells.Open(context.Background(), key("app/0"), spec); !errors.Is(err, isolate.ErrNoRights) {
		return fail(errors.Errorf("without root there is no network, but: %v", err))
	}
	spec.Mode = model.IsolateAuto
	c, err := cells.Open(context.Background(), key("app/0"), spec)
	if errors.Is(err, isolate.ErrNoRights) {
		fmt.Println("NO RIGHTS", err)
		return 1
	}
	if err != nil {
		return fail(err)
	}
	own := filepath.Join(dir, "agents", "unit-app-0")
	for _, err := range []error{
		os.MkdirAll(own, 0o755), os.MkdirAll(filepath.Join(dir, "agents", "unit-app-1"), 0o755), os.WriteFile(filepath.Join(own, "file"), []byte("attached\n"), 0o600),
		c.Attach("unit-app-0", own, isolate.Juju+"/agents/unit-app-0"),
	} {
		if err != nil {
			return fail(err)
		}
	}
	out, err := run(c, "DATA="+dir+"; "+commands)
	if removed := cells.Remove(key("app/0")); err == nil {
		err = removed
	}
	if err != nil {
		return fail(errors.Annotate(err, out))
	}
	fmt.Println(out)
	return 0
}
