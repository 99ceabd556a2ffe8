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
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestHostAUserWhoIsNotRootHasWorkloadContainers of one owner, on the host's
// network, and is told why there are no others.
func TestHostAUserWhoIsNotRootHasWorkloadContainers(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("it needs root to become somebody else")
	}
	dir, err := os.MkdirTemp("", "unitd-isolate-user-") // others can't see t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	must(t, err)
	w := &world{t: t, dir: dir, cells: &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: self}}
	w.image()
	must(t, exec.Command("cp", self, filepath.Join(dir, "program")).Run())
	must(t, os.MkdirAll(filepath.Join(dir, "scratch"), 0o755))
	must(t, exec.Command("chown", "-R", "65534:65534", dir).Run())
	cmd := exec.Command(filepath.Join(dir, "program"), "container-as-user", dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if strings.HasPrefix(string(out), "NO RIGHTS") {
		t.Skipf("not here: %s", out)
	}
	const want = `cannot start web of app/0: the program is to run as 171:0, but without root there is one user, 0:0, inside
0 1 app-0
top
base
pushed
false
files belong to one user inside, as `
	if err != nil || !strings.HasPrefix(string(out), want) {
		t.Errorf("got %s, %v, want %s", out, err, want)
	}
	if _, err := os.Stat(filepath.Join(dir, "cells")); !os.IsNotExist(err) {
		t.Errorf("something is left: %v", err)
	}
}

// containerAsUser has a container for who isn't root, beside a unit's cell, and
// prints what it is like.
func containerAsUser(dir string) int {
	fail := func(err error) int {
		fmt.Println(err)
		return 1
	}
	ctx := context.Background()
	cells := &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: filepath.Join(dir, "program")}
	layers := []string{filepath.Join(dir, "layers", "top,1:2"), filepath.Join(dir, "layers", "base")}
	unit, err := cells.Open(ctx, unitKey, isolate.Spec{Name: "app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateFiles, Root: layers[1], Data: dir})
	if errors.Is(err, isolate.ErrNoRights) {
		fmt.Println("NO RIGHTS", err)
		return 1
	}
	if err != nil {
		return fail(err)
	}
	spec := isolate.Spec{
		Name: "web of app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateFiles, Data: dir, With: unit, Layers: layers,
		Binds: []isolate.Bind{{From: filepath.Join(dir, "scratch"), To: scratch}},
		First: &isolate.First{
			Path: "/bin/sh", UID: 171, Env: []string{"PATH=" + isolate.Path}, Log: filepath.Join(dir, "log"),
			Args: []string{"-c", `read host </proc/sys/kernel/hostname; echo $(id -u) $$ $host; cat /etc/both /etc/only; echo pushed >/etc/pushed; cat /etc/pushed`},
		},
	}
	key := isolate.ContainerKey(unitKey, "web")
	_, err = cells.Open(ctx, key, spec)
	if !errors.Is(err, isolate.ErrNoRights) {
		return fail(errors.Errorf("another user's without root: %v", err))
	}
	fmt.Println(err)
	spec.First.UID = 0
	c, err := cells.Open(ctx, key, spec)
	if err != nil {
		return fail(err)
	}
	if _, err := c.Wait(ctx); err != nil {
		return fail(err)
	}
	log, err := os.ReadFile(spec.First.Log)
	fmt.Print(string(log))
	fmt.Println(c.Running())
	fmt.Println(c.Lost())
	if err == nil {
		err = c.Stop(ctx, time.Second)
	}
	if removed := cells.Clear(unitKey); err == nil {
		err = removed
	}
	if err != nil {
		return fail(err)
	}
	return 0
}
