package isolate_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestMain makes the test's binary a cell's init, and what enters cells, as unitd
// is.
func TestMain(m *testing.M) {
	if code, ok := isolate.Main(os.Args); ok {
		os.Exit(code)
	}
	switch {
	case len(os.Args) == 5 && os.Args[1] == "as-user":
		os.Exit(asUser(os.Args[2], os.Args[3], os.Args[4]))
	case len(os.Args) > 2 && os.Args[1] == insideVerb:
		os.Exit(insideMain(os.Args[2], os.Args[3:]))
	case len(os.Args) == 2 && os.Args[1] == "agent":
		os.Exit(agentMain())
	case len(os.Args) == 2 && os.Args[1] == "life":
		os.Exit(lifeMain())
	case len(os.Args) == 3 && os.Args[1] == "on-overlay":
		os.Exit(onOverlayMain(os.Args[2]))
	case len(os.Args) == 3 && os.Args[1] == "container-as-user":
		os.Exit(containerAsUser(os.Args[2]))
	case len(os.Args) == 4 && os.Args[1] == "many-ids":
		os.Exit(manyIDs(os.Args[2], os.Args[3]))
	case len(os.Args) == 2 && os.Args[1] == "listen":
		os.Exit(listen(net.Conn.LocalAddr))
	case len(os.Args) == 2 && os.Args[1] == "tell-callers":
		os.Exit(listen(net.Conn.RemoteAddr))
	case len(os.Args) == 3 && os.Args[1] == "echo":
		os.Exit(echo(os.Args[2]))
	case len(os.Args) == 4 && os.Args[1] == "echoes":
		os.Exit(echoes(os.Args[2], os.Args[3]))
	case len(os.Args) == 3 && os.Args[1] == "receive":
		os.Exit(receive(os.Args[2]))
	case len(os.Args) == 4 && os.Args[1] == "delay":
		os.Exit(delayMain(os.Args[2], os.Args[3]))
	case len(os.Args) == 4 && os.Args[1] == "escape":
		os.Exit(escapeMain(os.Args[2], os.Args[3]))
	case len(os.Args) == 3 && os.Args[1] == "ask":
		text, err := ask(os.Args[2], 5*time.Minute)
		if err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Stdout.WriteString(text)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// insideVerb is the first argument of the test's binary in a workload container.
const insideVerb = "--inside"

// world is an agent's directory with cells, as a test has it.
type world struct {
	t     *testing.T
	dir   string
	cells *isolate.Cells
	had   bool // a workload container: there can be some
}

func newWorld(t *testing.T) *world {
	t.Helper()
	self, err := os.Executable()
	must(t, err)
	dir := t.TempDir()
	w := &world{t: t, dir: dir, cells: &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: self}}
	t.Cleanup(w.end)
	return w
}

// end removes all cells, and looks that nothing is left of them.
func (w *world) end() {
	keys, err := w.cells.Keys()
	must(w.t, err)
	for _, key := range keys {
		must(w.t, w.cells.Remove(key))
	}
	if _, err := os.Stat(w.cells.Dir); !os.IsNotExist(err) {
		w.t.Errorf("%s is left: %v", w.cells.Dir, err)
	}
}

func (w *world) spec(unit, mode string) isolate.Spec {
	return isolate.Spec{
		Name: unit, Hostname: strings.ReplaceAll(unit, "/", "-"), ID: "one", Mode: mode, OS: isolate.DefaultOS,
		Data: w.dir, Client: w.cells.Program,
	}
}

// open opens the cell of a unit, or ends the test where there can be none.
func (w *world) open(unit, mode string) *isolate.Cell {
	w.t.Helper()
	c, err := w.cells.Open(context.Background(), key(unit), w.spec(unit, mode))
	if errors.Is(err, isolate.ErrNoRights) {
		w.t.Skipf("not here: %v", err)
	}
	must(w.t, err)
	return c
}

func key(unit string) string { return "model/unit-" + strings.ReplaceAll(unit, "/", "-") }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatalf("%v: %s", err, errors.ErrorStack(err))
	}
}

// run runs a shell's commands in a cell.
func run(c *isolate.Cell, commands string) (string, error) {
	program, args := c.Command("/", "/bin/sh", "-c", commands)
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"PATH=" + isolate.Path, "GORACE=atexit_sleep_ms=0"} // with the race detector programs would end a second late
	b, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(b)), err
}

func want(t *testing.T, c *isolate.Cell, commands, out string) {
	t.Helper()
	got, err := run(c, commands)
	if err != nil || got != out {
		t.Errorf("%s: got %q, %v; want %q", commands, got, err, out)
	}
}

// TestHostSnapIsRefusedInALine, whether or not the root has one, and the root keeps its own.
func TestHostSnapIsRefusedInALine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := t.TempDir()
	prepareRoot(t, root)
	had := filepath.Join(root, "usr/bin/snap")
	must(t, os.MkdirAll(filepath.Dir(had), 0o755))
	must(t, os.WriteFile(had, []byte("#!/bin/sh\necho real\n"), 0o755))
	for unit, at := range map[string]string{"app/0": "", "app/1": root} {
		spec := w.spec(unit, model.IsolateFiles)
		spec.Root = at
		c := w.openBy(spec)
		for _, verb := range []string{"install lxd", "list", "version"} {
			// By the shell alone, as the small root has nothing else.
			want(t, c, "snap "+verb+" 2>/tmp/said >/tmp/out; echo $?; while read -r line; do echo \"$line\"; done </tmp/said; read -r line </tmp/out || echo nothing",
				"1\nsnap: snaps don't work in unitd's machines: install a deb instead, or deploy the charm with a Juju controller\nnothing")
		}
	}
	if b, err := os.ReadFile(had); err != nil || string(b) != "#!/bin/sh\necho real\n" {
		t.Errorf("the root's own is %q, %v", b, err)
	}
}

// TestHostARootIsHeldWhileACellIsOnIt, so that it isn't removed, and no cell begins on one
// that is being removed.
func TestHostARootIsHeldWhileACellIsOnIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	root := t.TempDir()
	prepareRoot(t, root)
	lock, err := os.Open(root)
	must(t, err)
	defer lock.Close()
	lone := func() error { return syscall.Flock(int(lock.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) }
	must(t, lone())
	spec := w.spec("app/0", model.IsolateFiles)
	spec.Root = root
	if _, err := w.cells.Open(t.Context(), key("app/0"), spec); err == nil || !strings.Contains(err.Error(), "is being removed") {
		t.Errorf("on a root that is being removed: %v", err)
	}
	must(t, syscall.Flock(int(lock.Fd()), syscall.LOCK_UN))
	w.openBy(spec)
	if err := lone(); err != syscall.EWOULDBLOCK {
		t.Errorf("a root that a cell is on can be removed: %v", err)
	}
	must(t, w.cells.Remove(key("app/0")))
	must(t, lone())
}

func TestHostACellIsAMachineOfItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "hostname; id -u; cat /proc/1/comm >/dev/null && ls /dev/pts/ptmx", "app-0\n0\n/dev/pts/ptmx")
	want(t, c, ". /etc/os-release; echo $ID $VERSION_ID", "ubuntu 22.04")
	want(t, c, "echo mine >/etc/unitd-isolate-test; rm -f /etc/debian_version; ls /etc/debian_version 2>/dev/null; cat /etc/unitd-isolate-test", "mine")
	want(t, c, "ls -d /var/lib/juju/*; touch /tmp/x; ls -A /run; exit 0", "/var/lib/juju/agents\n/var/lib/juju/tools\nlock")
	if _, err := os.Stat("/etc/unitd-isolate-test"); !os.IsNotExist(err) {
		t.Errorf("the host has it too: %v", err)
	}
	if out, err := run(c, "exit 7"); err == nil || err.Error() != "exit status 7" {
		t.Errorf("got %q, %v", out, err)
	}
	if out, err := run(c, "kill -TERM $$"); err == nil || err.Error() != "signal: terminated" {
		t.Errorf("got %q, %v", out, err)
	}
}

func TestHostCellsReachEachOtherAndTheHostReachesThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	a, b := w.open("app/0", model.IsolateOn), w.open("app/1", model.IsolateOn)
	for _, c := range []*isolate.Cell{a, b} {
		want(t, c, "/var/lib/juju/tools/client listen >/run/listens 2>&1 & until [ -s /run/listens ]; do sleep 0.01; done; cat /run/listens", "listens")
	}
	for _, from := range []*isolate.Cell{a, b} {
		for _, to := range []*isolate.Cell{a, b} {
			want(t, from, "/var/lib/juju/tools/client ask "+to.Network().Address, to.Network().Address)
		}
	}
	for _, c := range []*isolate.Cell{a, b} {
		if got, err := ask(c.Network().Address, 5*time.Minute); got != c.Network().Address || err != nil {
			t.Errorf("from the host: %q, %v", got, err)
		}
	}
	want(t, a, "ip -4 route show default 2>/dev/null | grep -c eth0 || grep -c ^eth0 /proc/net/route", "1")
	// What a program has started stays when that has ended, and goes with the cell.
	must(t, w.cells.Remove(key("app/0")))
	if _, err := ask(a.Network().Address, 100*time.Millisecond); err == nil {
		t.Error("it answers after its end")
	}
	want(t, b, "/var/lib/juju/tools/client ask "+b.Network().Address, b.Network().Address)
	must(t, w.cells.Remove(key("app/1")))
}

// TestHostANetworkIsFoundAgainWithoutItsRecord: somebody has removed a data directory,
// whose bridge is still there, and has made it again.
func TestHostANetworkIsFoundAgainWithoutItsRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.open("app/0", model.IsolateOn)
	must(t, os.Remove(filepath.Join(w.cells.Dir, "network.json")))
	second := w.open("app/1", model.IsolateOn)
	if first.Network().Gateway != second.Network().Gateway {
		t.Errorf("it was %+v, and is %+v", first.Network(), second.Network())
	}
}

// TestHostAProgramThatIsStoppedEndsWithAllThatItHasStarted, whatever that does
// against it, and what others have started goes on.
func TestHostAProgramThatIsStoppedEndsWithAllThatItHasStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "setsid sleep 100000 >/dev/null 2>&1 & echo $! >/run/other; echo ok", "ok")
	groups := runner.OpenCgroups(w.dir)
	defer groups.Close()
	r := &runner.Runner{Cgroups: groups}
	defer r.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var said []string
	program, args := c.Command("/", "/bin/sh", "-c", `trap '' TERM
		(setsid sh -c 'trap "" TERM; echo $$ >/run/one; while :; do sleep 60; done' &)
		until [ -s /run/one ]; do sleep 0.01; done
		if [ -n "$GROUPED" ]; then (env -i PATH=$PATH setsid sh -c 'echo $$ >/run/two; exec sleep 100000' &); until [ -s /run/two ]; do sleep 0.01; done; fi
		echo ready; while :; do sleep 60; done`)
	env := []string{"PATH=" + isolate.Path, runner.MarkVariable + "=" + w.dir}
	if groups != nil {
		env = append(env, "GROUPED=yes")
	}
	o := r.Run(ctx, runner.Cmd{
		Path: program, Args: args, Dir: "/", Env: env, Grace: 100 * time.Millisecond,
		Output: func(_ runner.Stream, line string) {
			said = append(said, line)
			cancel()
		},
	})
	if !o.Stopped || o.Left != 0 || strings.Join(said, ",") != "ready" {
		t.Errorf("got %+v, %q", o, said)
	}
	want(t, c, "for f in /run/one /run/two; do [ ! -e $f ] || ! kill -0 $(cat $f) 2>/dev/null || echo $f lives; done; kill -0 $(cat /run/other) && echo on", "on")
}

// TestHostAnInitThatIsGoneIsStartedAnew over the changes of the cell, and a cell of
// a former unit of the same name has none of them.
func TestHostAnInitThatIsGoneIsStartedAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "echo mine >/etc/mine; echo changed >/etc/hosts; echo gone >/run/x; echo ok", "ok")
	if again := w.open("app/0", model.IsolateFiles); again.Dir() != c.Dir() {
		t.Errorf("%s has become %s", c.Dir(), again.Dir())
	}
	want(t, c, "cat /run/x", "gone")
	_, err := run(c, "kill -KILL 1; kill -TERM 1") // which nobody inside can
	must(t, err)
	want(t, c, "cat /run/x", "gone")
	endInit(t, c)
	if out, err := run(c, "true"); err == nil || !strings.Contains(out, "the cell has ended") {
		t.Errorf("got %q, %v", out, err)
	}
	c = w.open("app/0", model.IsolateFiles)
	want(t, c, "cat /etc/mine /etc/hosts; ls /run", "mine\nchanged\nlock")
	former := w.spec("app/0", model.IsolateFiles)
	former.ID = "two"
	c, err = w.cells.Open(context.Background(), key("app/0"), former)
	must(t, err)
	want(t, c, "ls /etc/mine 2>/dev/null; hostname", "app-0")
}

// TestHostCellsAreHaltedAndPaused: nothing runs and no network is there until they are
// opened again, with what was changed; which is another boot only after a halt.
func TestHostCellsAreHaltedAndPaused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateOn)
	address := c.Network().Address
	want(t, c, "echo mine >/etc/mine; (exec sleep 600 >/dev/null 2>&1 &); echo ok", "ok")
	for _, step := range []struct {
		end  func() error
		more int // boots
	}{{w.cells.Pause, 0}, {w.cells.Halt, 1}, {w.cells.Pause, 0}, {w.cells.Halt, 1}} {
		was := c.Boots()
		must(t, step.end())
		must(t, step.end()) // what is halted stays so
		if out, err := run(c, "true"); err == nil || !strings.Contains(out, "the cell has ended") {
			t.Errorf("it runs on: %q, %v", out, err)
		}
		if route, err := exec.Command("ip", "route", "show", "to", "match", address).CombinedOutput(); strings.Contains(string(route), "unitd") {
			t.Errorf("its network is there: %s, %v", route, err)
		}
		c = w.open("app/0", model.IsolateOn)
		if got := c.Boots() - was; got != step.more {
			t.Errorf("%d boots more, want %d", got, step.more)
		}
		if c.Network().Address != address {
			t.Errorf("its address is %s, was %s", c.Network().Address, address)
		}
		want(t, c, "cat /etc/mine; ls /run", "mine\nlock")
	}
}

// endInit kills a cell's init, as a host that goes down does, and waits for it.
func endInit(t *testing.T, c *isolate.Cell) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(c.Dir(), "cell.json"))
	must(t, err)
	var record struct{ Pid int }
	must(t, json.Unmarshal(b, &record))
	must(t, syscall.Kill(record.Pid, syscall.SIGKILL))
	for syscall.Kill(record.Pid, 0) == nil {
		time.Sleep(time.Millisecond)
	}
}

// listen answers each caller with one of the addresses of the connection.
func listen(which func(net.Conn) net.Addr) int {
	l, err := net.Listen("tcp", ":8080")
	if err != nil {
		return 1
	}
	os.Stdout.WriteString("listens\n")
	for {
		conn, err := l.Accept()
		if err != nil {
			return 1
		}
		host, _, _ := net.SplitHostPort(which(conn).String())
		_, _ = conn.Write([]byte(strings.TrimPrefix(host, "::ffff:")))
		conn.Close()
	}
}

func ask(address string, patience time.Duration) (string, error) {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(address, "8080"), patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	b, err := io.ReadAll(conn)
	return string(b), err
}
