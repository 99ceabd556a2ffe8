package isolate_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
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

func TestHostAWorkloadContainerIsStoppedByTermAndWhatIgnoresItByKill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	mild := w.start("mild", w.container("mild", nil))
	mild.wantLog("began\n")
	must(t, mild.Stop(ctx, time.Hour))
	if e, err := mild.Wait(ctx); err != nil || e != (isolate.Exit{Known: true, Code: 7}) || mild.Running() {
		t.Errorf("got %+v, %v", e, err)
	}
	mild.wantLog("began\nTERM\n")
	must(t, mild.Stop(ctx, time.Hour)) // what has ended is no error
	stubborn := w.start("stubborn", w.container("stubborn", nil, "serve-stubbornly"))
	stubborn.want("(exec sleep 1000 </dev/null >/dev/null 2>&1 &); echo ok", "ok")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if err := stubborn.Stop(gone, time.Hour); !errors.Is(err, context.Canceled) || !stubborn.Running() {
		t.Errorf("an agent that ends has ended it: %v", err)
	}
	must(t, stubborn.Stop(ctx, 10*time.Millisecond))
	if e, err := stubborn.Wait(ctx); err != nil || e != (isolate.Exit{Known: true, Code: -1, Signal: 9}) {
		t.Errorf("got %+v, %v", e, err)
	}
	exits := w.container("exits", nil, "exit", "42")
	if e, err := w.start("exits", exits).Wait(ctx); err != nil || e != (isolate.Exit{Known: true, Code: 42}) {
		t.Errorf("got %+v, %v", e, err)
	}
	c, err := w.cells.Find(isolate.ContainerKey(unitKey, "exits"))
	if err != nil || c.Running() || c.Boots() != 1 {
		t.Errorf("found %+v, %v", c, err)
	}
	if _, err := w.cells.Find(isolate.ContainerKey(unitKey, "none")); !errors.Is(err, errors.NotFound) {
		t.Errorf("got %v", err)
	}
}

// agentMain is an agent in a process of its own: it opens the container that it
// reads of, says so, and waits to be killed.
func agentMain() int {
	var s struct {
		Cells isolate.Cells
		Spec  isolate.Spec
		Key   string
	}
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return 1
	}
	cells := &isolate.Cells{Dir: s.Cells.Dir, Program: s.Cells.Program}
	if _, err := cells.Open(context.Background(), s.Key, s.Spec); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("opened")
	select {}
}

// byAnother has another process open a container, and kills it.
func byAnother(t *testing.T, w *world, name string, spec isolate.Spec) {
	t.Helper()
	b, err := json.Marshal(map[string]any{"Cells": map[string]any{"Dir": w.cells.Dir, "Program": w.cells.Program}, "Spec": spec, "Key": isolate.ContainerKey(unitKey, name)})
	must(t, err)
	cmd := exec.Command(w.cells.Program, "agent")
	cmd.Stdin = bytes.NewReader(b)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	line, _ := bufio.NewReader(out).ReadString('\n')
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	if line != "opened\n" {
		t.Fatalf("the other one says %q", line)
	}
}

func TestHostAWorkloadContainerGoesOnWithoutItsAgentAndIsFoundAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := context.Background()
	spec := w.container("web", nil)
	byAnother(t, w, "web", spec)
	c, err := w.cells.Find(isolate.ContainerKey(unitKey, "web"))
	must(t, err)
	if !c.Running() {
		t.Fatal("it has ended with its agent")
	}
	if again := w.start("web", spec); again.Pid() != c.Pid() || again.Boots() != 1 {
		t.Errorf("it was started anew: %d, %d boots", again.Pid(), again.Boots())
	}
	waited := make(chan isolate.Exit)
	go func() {
		e, _ := c.Wait(ctx)
		waited <- e
	}()
	patient, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := c.Wait(patient); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	found := &container{Cell: c, w: w, spec: spec}
	found.want("echo on", "on")
	must(t, c.Stop(ctx, time.Hour))
	if e := <-waited; e != (isolate.Exit{}) {
		t.Errorf("nobody can know how it ended: %+v", e)
	}
	found.wantLog("began\nTERM\n")
	if c = w.start("web", spec).Cell; c.Boots() != 2 {
		t.Errorf("%d boots", c.Boots())
	}
}

func TestHostAWorkloadContainerIsStartedAnewWithTheUnitsMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateOn)
	spec := w.container("web", unit)
	c := w.start("web", spec)
	if !c.Joined(unit) || c.Joined(nil) {
		t.Error("it isn't in the unit's machine")
	}
	endInit(t, unit)
	if !c.Running() {
		t.Error("it ended with the unit's init")
	}
	if _, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, "other"), w.container("other", unit)); err == nil || !strings.Contains(err.Error(), "has ended") {
		t.Errorf("it was started in a machine that has ended: %v", err)
	}
	unit = w.open("app/0", model.IsolateOn)
	if c.Joined(unit) {
		t.Error("it is in a machine that has ended")
	}
	spec.With = unit
	c = w.start("web", spec)
	if c.Boots() != 2 || !c.Joined(unit) || nameSpace(t, c.Pid(), "net") != nameSpace(t, unit.Pid(), "net") {
		t.Errorf("%d boots", c.Boots())
	}
	// A former unit of that name has nothing in it.
	former := w.spec("app/0", model.IsolateOn)
	former.ID = "two"
	w.openBy(former)
	if c.Running() {
		t.Error("the container of a former unit is there")
	}
	if keys, err := w.cells.Keys(); err != nil || strings.Join(keys, " ") != unitKey {
		t.Errorf("got %q, %v", keys, err)
	}
}

func TestHostNothingIsLeftOfAWorkloadContainer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateFiles)
	spec := w.container("web", unit, "serve-stubbornly")
	c := w.start("web", spec)
	c.want("(exec cat </dev/zero >/dev/null 2>&1 &); echo ok", "ok")
	groups := groupsOf(t, c.Pid())
	// The one of the unit's machine alone leaves the container.
	must(t, w.cells.Remove(unitKey))
	if !c.Running() {
		t.Error("it has ended with the unit's machine")
	}
	pid := c.Pid()
	must(t, w.cells.Clear(unitKey))
	if _, err := os.Stat(c.Dir()); !os.IsNotExist(err) {
		t.Errorf("its directory is left: %v", err)
	}
	if c.Running() || syscall.Kill(pid, 0) == nil && !endedIn(pid) {
		t.Error("it runs")
	}
	wantNothingOf(t, w.dir)
	for _, g := range groups {
		if _, err := os.Stat(g); !os.IsNotExist(err) {
			t.Errorf("its cgroup %s is left", g)
		}
	}
	must(t, w.cells.Clear(unitKey))
}

// endedIn says whether a process that is still known has ended.
func endedIn(pid int) bool {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(b), ") Z ")
}

// groupsOf are the cgroup of a process, and the one above it, if it has one of its
// own.
func groupsOf(t *testing.T, pid int) []string {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	must(t, err)
	for line := range strings.Lines(string(b)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && strings.Contains(path, "unitd-containers-") {
			for _, top := range []string{"/sys/fs/cgroup", "/sys/fs/cgroup/unified"} {
				if _, err := os.Stat(top + path); err == nil {
					return []string{top + path, filepath.Dir(top + path)}
				}
			}
		}
	}
	return nil
}

// wantNothingOf looks that no process has a directory as its root, or as a mount.
func wantNothingOf(t *testing.T, dir string) {
	t.Helper()
	procs, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, p := range procs {
		if b, err := os.ReadFile(p + "/mountinfo"); err == nil && strings.Contains(string(b), dir+"/") {
			name, _ := os.ReadFile(p + "/cmdline")
			t.Errorf("%s (%q) has mounts of %s", p, name, dir)
		}
	}
}

func TestHostAWorkloadContainersProgramRunsAsWhoItIsToBe(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.container("web", nil)
	spec.First.UID, spec.First.GID, spec.First.Groups, spec.First.Dir = 171, 172, []int{170}, "/etc"
	c := w.start("web", spec)
	c.want("id -u; id -g; id -G; read f <both; echo $f; (: >/etc/new) 2>&1", "171\n172\n172 170\ntop\n/bin/sh: 1: cannot create /etc/new: Permission denied")
	c.want("echo said >>/dev/stderr; echo out >>/proc/1/fd/1", "said")
	c.wantLog("began\nout\n")
	// The log may be cut while it is written to.
	must(t, os.Truncate(spec.First.Log, 0))
	must(t, c.Stop(context.Background(), time.Hour))
	c.wantLog("TERM\n")
	for path, why := range map[string]string{"/bin/none": "cannot run /bin/none: no such file or directory", "/etc/both": "permission denied", "sh": "not valid"} {
		bad := w.container("bad", nil)
		bad.First.Path = path
		if _, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, "bad"), bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestHostAWorkloadContainerOverTheHostsRoot has its programs, and neither its
// temporary files nor the agent's.
func TestHostAWorkloadContainerOverTheHostsRoot(t *testing.T) {
	t.Parallel()
	w, _ := secretive(t)
	mine, err := os.CreateTemp("/tmp", "unitd-isolate-")
	must(t, err)
	mine.Close()
	defer os.Remove(mine.Name())
	spec := w.container("web", nil)
	top := filepath.Join(t.TempDir(), "top")
	must(t, os.MkdirAll(top+"/etc", 0o755))
	must(t, os.WriteFile(top+"/etc/on-top", []byte("on top\n"), 0o644))
	must(t, exec.Command("cp", w.cells.Program, top+"/inside").Run())
	spec.Layers, spec.First.Path = []string{top, isolate.HostRoot}, "/inside"
	c := w.start("web", spec)
	c.want("cat /etc/on-top; ls "+mine.Name()+" /run/* 2>/dev/null; ls "+w.dir+"; stat -c %a /tmp; echo mine >/etc/unitd-isolate-test; rm /etc/debian_version; cat /etc/unitd-isolate-test", "on top\n1777\nmine")
	c.want(uncover(w.dir), "") // it is the host's root, and may not
	if _, err := os.Stat("/etc/unitd-isolate-test"); !os.IsNotExist(err) {
		t.Errorf("the host has it too: %v", err)
	}
	must(t, c.Stop(context.Background(), time.Hour))
	c = w.start("web", spec)
	c.want("ls /etc/unitd-isolate-test 2>/dev/null; cat /etc/on-top", "on top")
}

// TestHostARefusalOfRootIsTold and not that of a way that was tried after it, which
// has fewer rights still.
func TestHostARefusalOfRootIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.container("web", w.open("app/0", model.IsolateOn))
	dir := filepath.Join(w.dir, "on-overlay")
	program := exec.Command(w.cells.Program, "on-overlay", dir)
	b, err := json.Marshal(map[string]any{"Cells": map[string]any{"Dir": dir + "/root/cells", "Program": w.cells.Program}, "Spec": spec, "Unit": w.cells.Dir})
	must(t, err)
	program.Stdin = bytes.NewReader(b)
	program.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	out, err := program.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "on an overlay itself") {
		t.Errorf("got %s, %v", out, err)
	}
}

// onOverlayMain is an agent whose directory is on an overlay.
func onOverlayMain(dir string) int {
	var s struct {
		Cells isolate.Cells
		Spec  isolate.Spec
		Unit  string
	}
	fail := func(err error) int {
		fmt.Println(err)
		return 1
	}
	if err := json.NewDecoder(os.Stdin).Decode(&s); err != nil {
		return fail(err)
	}
	for _, d := range []string{"root", "lower", "upper", "work"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			return fail(err)
		}
	}
	if err := syscall.Mount("", "/", "", syscall.MS_REC|syscall.MS_PRIVATE, ""); err != nil {
		return fail(err)
	}
	options := fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", dir)
	if err := syscall.Mount("x", dir+"/root", "overlay", 0, options); err != nil {
		return fail(err)
	}
	var err error
	if s.Spec.With, err = (&isolate.Cells{Dir: s.Unit}).Find(unitKey); err != nil {
		return fail(err)
	}
	cells := &isolate.Cells{Dir: s.Cells.Dir, Program: s.Cells.Program}
	key := isolate.ContainerKey(unitKey, "web")
	_, err = cells.Open(context.Background(), key, s.Spec)
	if cleared := cells.Clear(key); cleared != nil { // what a failure has left, too
		return fail(cleared)
	}
	if err != nil {
		return fail(err)
	}
	return 0
}
