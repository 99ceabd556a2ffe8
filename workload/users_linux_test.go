package workload_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/workload"
)

// pod is containers of one unit, with what is asked of their Pebbles.
type pod struct {
	*world
	*testing.T
	unit *workload.Unit
}

// in is the same for a part of the test.
func (p pod) in(t *testing.T) pod {
	w := *p.world
	w.t = t
	return pod{&w, t, p.unit}
}

func (p pod) pebble(name string) *pebble.Client {
	return pebble.New(filepath.Join(p.dir, "containers", name, "pebble.socket"))
}

// push is the error of a push, if any.
func (p pod) push(to, path, text string, o pebble.WriteOptions) error {
	return p.pebble(to).WriteFile(p.Context(), path, strings.NewReader(text), o)
}

// says is what a shell's commands print in a container.
func (p pod) says(in, commands string) string {
	p.Helper()
	var out bytes.Buffer
	c, err := p.pebble(in).Exec(p.Context(), pebble.ExecOptions{Command: []string{"sh", "-c", commands}, Stdout: &out})
	if err == nil {
		err = c.Wait()
	}
	p.ok(err)
	return strings.TrimSpace(out.String())
}

func (p pod) is(what, got, want string) {
	p.Helper()
	if got != want {
		p.Errorf("%s: got %q, want %q", what, got, want)
	}
}

// as runs Pebble's own client on the host as a user.
func (p pod) as(uid int, of string, args ...string) (string, error) {
	cmd := exec.Command(filepath.Join(p.dir, "pebble"), args...)
	cmd.Env = []string{"PEBBLE_SOCKET=" + filepath.Join(p.dir, "containers", of, "pebble.socket")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func number(n int) *int { return &n }

// TestHostContainersOfAUnitShareWhatTheyAreGiven plays one unit with three
// containers: one of a uid of its own, with identities; one that is root's; and one
// whose root has next to no room.
func TestHostContainersOfAUnitShareWhatTheyAreGiven(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	log := &kept{}
	w.log = slog.New(slog.NewTextHandler(io.MultiWriter(log, t.Output()), nil))
	p := pod{w, t, w.unit()}
	w.ok(os.Chmod(w.dir, 0o755)) // for other users
	program, err := os.ReadFile(pebbletest.Program(t))
	w.ok(err)
	w.ok(os.WriteFile(filepath.Join(w.dir, "pebble"), program, 0o755))
	data := w.makeDir("data")
	w.ok(os.Chown(data, 0, 170))
	w.ok(os.Chmod(data, 0o775|os.ModeSetgid))
	identities := filepath.Join(w.dir, "identities.yaml")
	w.ok(os.WriteFile(identities, []byte("identities: {charm: {access: admin, local: {user-id: 170}}}\n"), 0o644))

	store, root := w.container("store", w.port()), w.container("root", w.port())
	store.User = workload.User{Image: true, UID: number(584792), GID: number(584792), Groups: []int{170}}
	store.Identities = identities
	store.Binds = []isolate.Bind{{From: data, To: "/data"}, {From: data, To: "/srv/export"}}
	root.Binds = []isolate.Bind{{From: data, To: "/data", ReadOnly: true}}
	root.Limits = isolate.Limits{MemoryBytes: 512 << 20, CPUMillis: 500}
	w.makeDir("containers")
	w.ok(os.Mkdir(store.Dir, 0o700)) // as a umask of 077 has it
	w.ok(p.unit.Set(t.Context(), nil, []workload.Container{store, root}))
	t.Cleanup(func() { w.ok(p.unit.Remove(context.WithoutCancel(t.Context()))) })
	w.until(p.unit, "store", runs)
	first := w.until(p.unit, "root", runs)

	t.Run("K-006 one storage is at two locations", func(t *testing.T) {
		p := p.in(t)
		p.ok(p.push("store", "/data/page", "stored", pebble.WriteOptions{}))
		p.is("the other location", p.says("store", "cat /srv/export/page"), "stored")
	})
	t.Run("K-093 a pushed file has the owner that the workload's passwd names", p.k093)
	t.Run("K-094 a container with a uid runs as that", p.k094)
	t.Run("K-095 the charm's user may do all, and K-096 who isn't named may not", p.k095)
	t.Run("K-099 read-only storage is", func(t *testing.T) {
		p := p.in(t)
		err := p.push("root", "/data/page", "other", pebble.WriteOptions{})
		p.is("the push", refusal(err), "read-only file system")
		p.is("storage", p.says("store", "cat /data/page"), "stored")
	})
	t.Run("K-105 two containers can't both have a port", p.k105)
	t.Run("limits are the cgroup's, or it is said that there are none", func(t *testing.T) {
		p := p.in(t)
		limit := p.says("root", "cat /sys/fs/cgroup/memory.max 2>/dev/null || echo none")
		lost := strings.Contains(first.Lost, "no limit to 536870912 bytes of memory: ")
		if !lost && limit != strconv.Itoa(512<<20) {
			t.Errorf("the limit is %s, and lost is %q", limit, first.Lost)
		}
		p.kill(root.Key)
		p.until(p.unit, "root", func(s workload.State) bool { return runs(s) && s.Restarts == 1 })
		said := strings.Count(log.String(), `doesn't hold" container=root limit="536870912 bytes of memory" err=`)
		if lost && said != 1 || !lost && said != 0 {
			t.Errorf("lost is %q, and the log says so %d times: %s", first.Lost, said, log)
		}
		if now := p.until(p.unit, "store", runs); now.Lost != "" {
			t.Errorf("without limits it lacks %q", now.Lost)
		}
	})
	t.Run("K-098 a pushed file is gone after a restart, one on storage isn't", func(t *testing.T) {
		p := p.in(t)
		p.ok(p.push("store", "/tmp/pushed", "pushed", pebble.WriteOptions{}))
		p.kill(store.Key)
		p.until(p.unit, "store", func(s workload.State) bool { return runs(s) && s.Restarts == 1 })
		p.is("what is there", p.says("store", "cat /data/page; ls /tmp"), "stored")
	})
}

// kept is what was logged.
type kept struct {
	mu   sync.Mutex
	text strings.Builder
}

func (k *kept) Write(b []byte) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.Write(b)
}

func (k *kept) String() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.text.String()
}

// refusal is the last part of what Pebble says of an operation on a file.
func refusal(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		text = text[i+2:]
	}
	return text
}

func (p pod) k093(t *testing.T) {
	p = p.in(t)
	owner := pebble.Owner{User: "daemon", Group: "daemon"}
	p.ok(p.push("root", "/tmp/daemons", "x", pebble.WriteOptions{Owner: owner}))
	p.is("its owner", p.says("root", "stat -c %U:%G:%u /tmp/daemons"), "daemon:daemon:1")
	files, err := p.pebble("root").ListFiles(t.Context(), "/tmp/daemons", pebble.ListOptions{})
	p.ok(err)
	if len(files) != 1 || files[0].User != "daemon" || files[0].Group != "daemon" {
		t.Errorf("got %+v", files)
	}
	p.is("who isn't there", refusal(p.push("root", "/tmp/nobody", "x", pebble.WriteOptions{Owner: pebble.Owner{User: "no-such-user"}})), "unknown user no-such-user")
	p.is("Pebble that isn't root", refusal(p.push("store", "/tmp/daemons", "x", pebble.WriteOptions{Owner: owner})), "operation not permitted")
}

func (p pod) k094(t *testing.T) {
	p = p.in(t)
	p.is("who it is", p.says("store", "id -u; id -g; id -G; stat -c %u:%g /data/page"), "584792\n584792\n584792 170\n584792:170")
	service := pebble.Layer{Label: "s", Combine: true, YAML: "services: {who: {override: replace, command: sh -c 'id -u >/data/service; exec sleep 1000', startup: enabled}}"}
	p.ok(p.pebble("store").AddLayer(t.Context(), service)) // this is root
	p.ok(p.pebble("store").Replan(t.Context()))
	p.is("its service", p.says("store", "cat /data/service"), "584792")
	p.ok(p.pebble("store").Stop(t.Context(), "who"))
}

func (p pod) k095(t *testing.T) {
	p = p.in(t)
	if out, err := p.as(170, "store", "replan"); err != nil {
		t.Errorf("the charm's: %v, %s", err, out)
	}
	if out, err := p.as(170, "store", "exec", "id", "-u"); err != nil || out != "584792" {
		t.Errorf("the charm's: %v, %s", err, out)
	}
	for of, uid := range map[string]int{"store": 171, "root": 170} {
		out, err := p.as(uid, of, "replan")
		if err == nil || !strings.Contains(out, "access denied") {
			t.Errorf("%d in %s: %v, %s", uid, of, err, out)
		}
	}
}

func (p pod) k105(t *testing.T) {
	p = p.in(t)
	port := p.port()
	layer := pebble.Layer{Label: "port", Combine: true, YAML: fmt.Sprintf(
		"services: {port: {override: replace, command: python3 -m http.server %d --bind 127.0.0.1, on-failure: ignore}}", port)}
	for _, name := range []string{"store", "root"} {
		p.ok(p.pebble(name).AddLayer(t.Context(), layer))
	}
	p.ok(p.pebble("store").Start(t.Context(), "port"))
	for { // what is alive after a second has started, and may not listen yet
		if c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			p.ok(c.Close())
			break
		}
		runtime.Gosched()
	}
	err := p.pebble("root").Start(t.Context(), "port")
	if err != nil && !strings.Contains(err.Error(), "exited quickly with code 1") {
		t.Errorf("the second one: %v", err)
	}
	for err == nil { // on a busy host it takes longer to find out
		all, fault := p.pebble("root").Services(t.Context(), "port")
		p.ok(fault)
		if len(all) == 1 && all[0].Current == "error" {
			break
		}
		runtime.Gosched()
	}
	p.ok(p.pebble("store").Stop(t.Context(), "port"))
}

// TestHostK100APushIntoAFullRootFails, and the container goes on.
func TestHostK100APushIntoAFullRootFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	small := w.makeDir("cells")
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=2m"); err != nil {
		t.Skipf("skipped: nothing can be mounted here: %v", err)
	}
	t.Cleanup(func() { w.ok(syscall.Unmount(small, syscall.MNT_DETACH)) })
	w.cells.Dir = filepath.Join(small, "cells")
	p := pod{w, t, w.unit()}
	w.ok(p.unit.Set(t.Context(), nil, []workload.Container{w.container("web", w.port())}))
	first := w.until(p.unit, "web", runs)
	err := p.push("web", "/var/big", strings.Repeat("x", 4<<20), pebble.WriteOptions{})
	var api *pebble.APIError
	if !errors.As(err, &api) || refusal(err) != "no space left on device" {
		t.Errorf("got %v", err)
	}
	w.ok(p.push("web", "/charm/container/small", "x", pebble.WriteOptions{}))
	if now := w.until(p.unit, "web", runs); now.Pebble.Boot != first.Pebble.Boot {
		t.Errorf("it was %+v, and is %+v", first, now)
	}
	w.ok(p.unit.Remove(t.Context()))
}

// TestHostK097InAUserNameSpaceAPushedFileIsRootsInside: the agent, who isn't root, has
// admin's access by being 0 inside. The test begins as root and becomes somebody else.
func TestHostK097InAUserNameSpaceAPushedFileIsRootsInside(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	dir, err := os.MkdirTemp("", "w")
	if err != nil {
		t.Fatal(err)
	}
	w := makeWorld(t, dir)
	p := pod{w, t, w.unit()}
	image, err := oci.ReadSource("rootfs:" + w.makeDir("image"))
	w.ok(err)
	web, other := w.container("web", w.port()), w.container("other", w.port())
	web.Image, web.Hostname, web.User = image, "app-0", workload.User{Image: true, Groups: []int{170}}
	other.Image, other.User = image, workload.User{Image: true, UID: number(584792)}
	w.ok(p.unit.Set(t.Context(), nil, []workload.Container{web, other}))
	defer func() { w.ok(p.unit.Remove(context.WithoutCancel(t.Context()))) }()
	refused := w.until(p.unit, "other", func(s workload.State) bool { return s.Phase == workload.Waiting })
	if !strings.Contains(refused.Fault, "is to run as 584792:0, but without root there is one user, 0:0, inside") {
		t.Skipf("skipped: not here: %s", refused.Fault)
	}
	w.until(p.unit, "web", runs)
	w.ok(p.push("web", "/pushed", "x", pebble.WriteOptions{}))
	files, err := p.pebble("web").ListFiles(t.Context(), "/pushed", pebble.ListOptions{})
	w.ok(err)
	if len(files) != 1 || *files[0].UserID != 0 || *files[0].GroupID != 0 {
		t.Errorf("it is %+v", files)
	}
	var host bytes.Buffer
	w.ok(p.pebble("web").ReadFile(t.Context(), "/proc/sys/kernel/hostname", &host))
	p.is("the host name", host.String(), "app-0\n")
	fmt.Println("PUSHED")
}

// asNobody runs the test again as a user who isn't root.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "w") // others can't see t.TempDir
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]string{"test": self, "pebble": pebbletest.Program(t)} {
		b, err := os.ReadFile(from)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), b, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Chmod(dir, 0o755), os.Mkdir(filepath.Join(dir, "tmp"), 0o777), os.Chmod(filepath.Join(dir, "tmp"), 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, "test"), "-test.v", "-test.run=^"+t.Name()+"$")
	cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH"), "UNITD_TEST_PROGRAMS=" + dir, "TMPDIR=" + filepath.Join(dir, "tmp")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	switch {
	case err != nil:
		t.Errorf("%v: %s", err, out)
	case !bytes.Contains(out, []byte("PUSHED")):
		t.Skipf("skipped: %s", out)
	}
}
