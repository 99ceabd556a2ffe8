package isolate_test

import (
	"context"
	stderrors "errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/isolate/isolatetest"
	"github.com/unitd/unitd/model"
)

// userWorld is a directory of isolatetest.Nobody with a program and an image of two layers.
func userWorld(t *testing.T) string {
	t.Helper()
	isolatetest.Need(t)
	dir, err := os.MkdirTemp("", "unitd-isolate-ids-") // others can't see t.TempDir
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	must(t, err)
	w := &world{t: t, dir: dir, cells: &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: self}}
	w.image()
	for _, tool := range []string{"stat", "chown", "mkdir"} {
		path, err := exec.LookPath(tool)
		must(t, err)
		copyWithLibraries(t, filepath.Join(dir, "layers", "base"), path, "/bin/"+tool)
	}
	must(t, exec.Command("cp", self, filepath.Join(dir, "program")).Run())
	must(t, os.MkdirAll(filepath.Join(dir, "scratch"), 0o755))
	must(t, exec.Command("chown", "-R", fmt.Sprintf("%d:%d", isolatetest.Nobody, isolatetest.Nobody), dir).Run())
	return dir
}

// TestHostAUserWithSubordinateIDsHasManyUsersInside, whose files the agent removes; and
// the next agent finds what runs.
func TestHostAUserWithSubordinateIDsHasManyUsersInside(t *testing.T) {
	t.Parallel()
	dir := userWorld(t)
	as := func(part string) string {
		t.Helper()
		out, err := isolatetest.Command(t, isolatetest.Size, filepath.Join(dir, "program"), "many-ids", dir, part).CombinedOutput()
		if strings.HasPrefix(string(out), "NO RIGHTS") {
			t.Skipf("skipped: %s", out)
		}
		if err != nil {
			t.Fatalf("%s: %v: %s", part, err, out)
		}
		return string(out)
	}
	const began = `lost: 
root 0:0 0
owner 33:34
groups of 2: 
juju 170:170 170
file 170:170 640
container 171:584792 171 1
`
	if got := as("begin"); got != began {
		t.Errorf("got\n%s\nwant\n%s", got, began)
	}
	for name, want := range map[string]int{"scratch/made": 200170, "log": 200170} {
		st, err := os.Stat(filepath.Join(dir, name))
		must(t, err)
		if got := int(st.Sys().(*syscall.Stat_t).Uid); got != want {
			t.Errorf("on the host %s is of %d, want %d", name, got, want)
		}
	}
	if got, want := as("end"), "found\nclosed away\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, gone := range []string{"cells", "scratch"} {
		if _, err := os.Stat(filepath.Join(dir, gone)); !os.IsNotExist(err) {
			t.Errorf("%s is left: %v", gone, err)
		}
	}
}

// manyIDs is the part of the user's agent in that test.
func manyIDs(dir, part string) int {
	cells := &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: filepath.Join(dir, "program")}
	defer cells.Close()
	var err error
	if part == "begin" {
		err = beginMany(cells, dir)
	} else {
		err = endMany(cells, dir)
	}
	if errors.Is(err, isolate.ErrNoRights) {
		fmt.Println("NO RIGHTS", err)
		return 1
	}
	if err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// manySpecs are a unit's cell and its container.
func manySpecs(dir string) (unit, container isolate.Spec) {
	base := filepath.Join(dir, "layers", "base")
	unit = isolate.Spec{
		Name: "app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateFiles, Root: base, Data: dir,
		Accounts: []isolate.Account{{Name: "juju", UID: 170, GID: 170, Home: "/home/juju"}},
	}
	container = isolate.Spec{
		Name: "web of app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateFiles, Data: dir, Layers: []string{base},
		Binds: []isolate.Bind{{From: filepath.Join(dir, "scratch"), To: scratch}},
		First: &isolate.First{
			Path: "/bin/sh", UID: 171, GID: 584792, Groups: []int{170}, Env: []string{"PATH=" + isolate.Path}, Log: filepath.Join(dir, "log"),
			Args: []string{"-c", `umask 077; cd ` + scratch + `; mkdir closed; echo x >closed/x; echo >made; echo container $(id -u):$(id -g) $(stat -c %u made) $$ >>/dev/stdout; echo >told; read never <never`},
		},
	}
	return unit, container
}

func beginMany(cells *isolate.Cells, dir string) error {
	ctx := context.Background()
	ids, why := cells.IDs()
	if !ids.Many() {
		return errors.WithType(why, isolate.ErrNoRights)
	}
	unitSpec, spec := manySpecs(dir)
	unit, err := cells.Open(ctx, unitKey, unitSpec)
	if err != nil {
		return err
	}
	fmt.Println("lost:", unit.Lost())
	out, err := run(unit, `echo root $(id -u):$(id -g) $(id -G); echo >/etc/f; chown 33:34 /etc/f; echo owner $(stat -c %u:%g /etc/f); mkdir -m 700 /etc/d; echo >/etc/d/f; chown 65534 /etc/d`)
	if err != nil {
		return errors.Annotate(err, out)
	}
	fmt.Println(out)
	if err := unit.RunAs(isolate.Person{UID: 170, GID: 170, Home: "/home/juju"}); err != nil {
		return err
	}
	f, err := unit.OpenAsPerson("/home/juju/own", os.O_CREATE|os.O_WRONLY, 0o640)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	if err := printGroups(); err != nil {
		return err
	}
	if out, err = run(unit, `echo juju $(id -u):$(id -g) $(id -G); echo file $(stat -c '%u:%g %a' ~juju/own)`); err != nil {
		return errors.Annotate(err, out)
	}
	fmt.Println(out)
	shared := filepath.Join(dir, "scratch")
	if err := os.Chmod(shared, 0o777); err != nil {
		return err
	}
	for _, pipe := range []string{"told", "never"} {
		path := filepath.Join(shared, pipe)
		if err := stderrors.Join(unix.Mkfifo(path, 0o666), os.Chmod(path, 0o666)); err != nil {
			return err
		}
	}
	spec.With = unit
	if _, err := cells.Open(ctx, isolate.ContainerKey(unitKey, "web"), spec); err != nil {
		return err
	}
	if _, err := os.ReadFile(filepath.Join(shared, "told")); err != nil { // until it says so
		return err
	}
	log, err := os.ReadFile(spec.First.Log) // of another's, by its group
	fmt.Print(string(log))
	return err
}

// printGroups prints how many children this process has, and which further groups
// any of their threads are in.
func printGroups() error {
	all, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*/status")
	if err != nil {
		return err
	}
	children, groups := map[string]bool{}, map[string]bool{}
	for _, path := range all {
		b, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(b), fmt.Sprintf("\nPPid:\t%d\n", os.Getpid())) {
			continue // it has ended
		}
		children[strings.Split(path, "/")[2]] = true
		_, after, _ := strings.Cut(string(b), "\nGroups:")
		line, _, _ := strings.Cut(after, "\n")
		groups[strings.TrimSpace(line)] = true
	}
	fmt.Printf("groups of %d: %s\n", len(children), strings.Join(slices.Sorted(maps.Keys(groups)), ", "))
	return nil
}

func endMany(cells *isolate.Cells, dir string) error {
	ctx := context.Background()
	key := isolate.ContainerKey(unitKey, "web")
	was, err := cells.Find(key)
	if err != nil {
		return err
	}
	unitSpec, spec := manySpecs(dir)
	unit, err := cells.Open(ctx, unitKey, unitSpec)
	if err != nil {
		return err
	}
	spec.With = unit
	c, err := cells.Open(ctx, key, spec)
	if err != nil {
		return err
	}
	if c.Running() && c.Pid() == was.Pid() {
		fmt.Println("found")
	}
	scratch := filepath.Join(dir, "scratch")
	if _, err := os.ReadDir(filepath.Join(scratch, "closed")); os.IsPermission(err) {
		fmt.Println("closed away")
	}
	if err := cells.Clear(unitKey); err != nil {
		return err
	}
	return durable.Disk{Beyond: cells.Beyond}.RemoveAll(scratch)
}
