package isolate_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// insideMain is what the test's binary is inside of a workload container.
func insideMain(verb string, args []string) int {
	switch verb {
	case "serve", "serve-stubbornly":
		return serve(verb == "serve-stubbornly")
	case "exit":
		code, _ := strconv.Atoi(args[0])
		return code
	case "wait":
		term := make(chan os.Signal, 1)
		signal.Notify(term, syscall.SIGTERM)
		<-term
	}
	return 0
}

const scratch = "/charm/container"

// serve runs a shell's commands for who connects to its socket, as Pebble would.
func serve(stubborn bool) int {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	_ = os.Remove(scratch + "/socket")
	l, err := net.Listen("unix", scratch+"/socket")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = os.Chmod(scratch+"/socket", 0o666)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			line, _ := bufio.NewReader(conn).ReadString('\n')
			cmd := exec.Command("/bin/sh", "-c", strings.ReplaceAll(line, "\x00", "\n"))
			cmd.Stdout, cmd.Stderr = conn, conn
			_ = cmd.Run()
			conn.Close()
		}
	}()
	fmt.Println("began")
	for {
		<-term
		fmt.Println("TERM")
		if !stubborn {
			return 7
		}
	}
}

// container is a workload container as a test has it.
type container struct {
	*isolate.Cell
	w    *world
	spec isolate.Spec
}

// spec says what the container of a unit is to be, over a root with a shell.
func (w *world) container(name string, with *isolate.Cell, verb ...string) isolate.Spec {
	w.t.Helper()
	if os.Geteuid() != 0 {
		w.t.Skip("workload containers in a unit's network need root")
	}
	dir := filepath.Join(w.dir, "scratch", name)
	must(w.t, os.MkdirAll(dir, 0o777))
	must(w.t, os.Chmod(dir, 0o777))
	if len(verb) == 0 {
		verb = []string{"serve"}
	}
	return isolate.Spec{
		Name: name + " of app/0", Hostname: "app-0", ID: "one", Mode: model.IsolateOn, Data: w.dir, With: with,
		Layers: w.image(), Binds: []isolate.Bind{{From: dir, To: scratch}},
		First: &isolate.First{
			Path: "/bin/inside", Args: append([]string{insideVerb}, verb...), Env: []string{"PATH=" + isolate.Path, "OWN=yes"},
			Log: filepath.Join(w.dir, name+".log"),
		},
	}
}

// image makes the layers of a root, top first, once.
func (w *world) image() []string {
	w.t.Helper()
	top, base := filepath.Join(w.dir, "layers", "top,1:2"), filepath.Join(w.dir, "layers", "base")
	if _, err := os.Stat(top); err == nil {
		return []string{top, base}
	}
	must(w.t, os.MkdirAll(filepath.Join(top, "bin"), 0o755))
	copyWithLibraries(w.t, base, w.cells.Program, "/bin/inside")
	for _, tool := range []string{"sh", "cat", "ls", "id", "rm", "readlink"} {
		path, err := exec.LookPath(tool)
		must(w.t, err)
		copyWithLibraries(w.t, base, path, "/bin/"+tool)
	}
	for path, text := range map[string]string{"base/etc/both": "base", "top/etc/both": "top", "base/etc/only": "base", "base/etc/gone": "base", "base/tmp/image": "image"} {
		path = filepath.Join(w.dir, "layers", strings.Replace(path, "top/", "top,1:2/", 1))
		must(w.t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(w.t, os.WriteFile(path, []byte(text+"\n"), 0o644))
	}
	if err := unix.Mknod(filepath.Join(top, "etc", "gone"), unix.S_IFCHR, 0); err != nil { // a whiteout
		w.t.Skipf("cannot make a layer here: %v", err)
	}
	return []string{top, base}
}

// copyWithLibraries has a program of the host in a root, with what it needs.
func copyWithLibraries(t *testing.T, root, program, as string) {
	t.Helper()
	files := map[string]string{program: as}
	out, _ := exec.Command("ldd", program).Output() // a static one has none
	for _, word := range strings.Fields(string(out)) {
		if strings.HasPrefix(word, "/") {
			files[word] = word
		}
	}
	for from, to := range files {
		to = filepath.Join(root, to)
		if _, err := os.Stat(to); err == nil {
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(to), 0o755))
		// By another process: whoever is forked meanwhile would keep it open for writing.
		must(t, exec.Command("cp", "-L", from, to).Run())
	}
}

const unitKey = "model/unit-app-0"

// start has a container there, and waits until it serves.
func (w *world) start(name string, spec isolate.Spec) *container {
	w.t.Helper()
	c, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, name), spec)
	if errors.Is(err, isolate.ErrNoRights) && !w.had {
		w.t.Skipf("not here: %v", err)
	}
	must(w.t, err)
	w.had = true
	return &container{Cell: c, w: w, spec: spec}
}

// run runs a shell's commands in the container, as soon as it serves.
func (c *container) run(commands string) string {
	c.w.t.Helper()
	path := filepath.Join(c.spec.Binds[0].From, "socket")
	for c.Running() {
		if conn, err := net.Dial("unix", short(c.w.t, path)); err == nil {
			defer conn.Close()
			_, _ = fmt.Fprintln(conn, strings.ReplaceAll(commands, "\n", "\x00"))
			b, _ := io.ReadAll(conn)
			return strings.TrimSpace(string(b))
		}
		time.Sleep(time.Millisecond)
	}
	log, _ := os.ReadFile(c.spec.First.Log)
	c.w.t.Fatalf("it doesn't run: %s", log)
	return ""
}

// short is a path that fits into a socket's address.
func short(t *testing.T, path string) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "s")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Symlink(path, dir+"/s"))
	return dir + "/s"
}

func (c *container) want(commands, out string) {
	c.w.t.Helper()
	if got := c.run(commands); got != out {
		c.w.t.Errorf("%s: got %q, want %q", commands, got, out)
	}
}

// wantLog waits until the program has printed so much.
func (c *container) wantLog(text string) {
	c.w.t.Helper()
	for {
		b, err := os.ReadFile(c.spec.First.Log)
		if err == nil && string(b) == text {
			return
		}
		if err != nil || !strings.HasPrefix(text, string(b)) {
			c.w.t.Fatalf("the log is %q, %v, want %q", b, err, text)
		}
		time.Sleep(time.Millisecond)
	}
}

func TestHostAWorkloadContainerIsInTheUnitsMachineAndOnItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	unit := w.open("app/0", model.IsolateOn)
	c := w.start("web", w.container("web", unit))
	// Its first process is the program, and nothing else is there.
	c.want(`cat /proc/1/comm; echo $OWN $PPID; cat /proc/sys/kernel/hostname; id -u`, "inside\nyes 1\napp-0\n0")
	c.want("for p in /proc/[0-9]*; do echo ${p#/proc/}; done | while read p; do [ $p = 1 ] || [ $p = $$ ] || cat /proc/$p/comm 2>/dev/null; done | while read x; do [ $x = sh ] || [ $x = cat ] || echo $x; done", "")
	mounts := strings.Fields(c.run("while read a at b; do echo $at; done </proc/mounts"))
	mounts = slices.DeleteFunc(mounts, func(at string) bool { return at == "/sys/fs/cgroup" }) // where there is one
	slices.Sort(mounts)
	own := []string{
		"/", scratch, "/dev", "/dev/full", "/dev/mqueue", "/dev/null", "/dev/pts", "/dev/random", "/dev/shm", "/dev/tty", "/dev/urandom", "/dev/zero", "/proc", "/sys",
	}
	if !slices.Equal(mounts, own) {
		t.Errorf("it has %q, want %q", mounts, own)
	}
	for name, same := range map[string]bool{"net": true, "uts": true, "pid": false, "mnt": false, "ipc": false} {
		own := nameSpace(t, c.Pid(), name)
		if got := own == nameSpace(t, unit.Pid(), name); got != same {
			t.Errorf("%s is the unit's: %v", name, got)
		}
		if own == nameSpace(t, os.Getpid(), name) {
			t.Errorf("%s is the host's", name)
		}
	}
	// One reaches on the loopback device what the other listens at.
	want(t, unit, "/var/lib/juju/tools/client listen >/run/listens 2>&1 & until [ -s /run/listens ]; do sleep 0.01; done; cat /run/listens", "listens")
	c.want("/bin/inside ask 127.0.0.1", "127.0.0.1")
	// Another container of the unit is on its own beside it.
	other := w.start("db", w.container("db", unit))
	other.want("/bin/inside ask 127.0.0.1; echo; ls "+scratch, "127.0.0.1\nsocket")
	if nameSpace(t, other.Pid(), "pid") == nameSpace(t, c.Pid(), "pid") {
		t.Error("two containers have the same processes")
	}
	if len(c.Network().Address) > 0 || c.Lost() != "" {
		t.Errorf("got %+v, %q", c.Network(), c.Lost())
	}
}

func nameSpace(t *testing.T, pid int, name string) string {
	t.Helper()
	to, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "ns", name))
	must(t, err)
	return to
}

func TestHostAWorkloadContainersRootIsItsLayersAnewAtEachStart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.container("web", nil)
	c := w.start("web", spec)
	c.want("cat /etc/both /etc/only /tmp/image; ls /etc/gone 2>/dev/null; ls -d /run", "top\nbase\nimage\n/run")
	c.want("echo pushed >/etc/pushed; echo kept >"+scratch+"/kept; rm /etc/only; cat /etc/pushed", "pushed")
	if _, err := os.Stat(filepath.Join(w.dir, "layers", "base", "etc", "only")); err != nil {
		t.Errorf("it has changed the layer: %v", err)
	}
	if again := w.start("web", spec); again.Pid() != c.Pid() || again.Boots() != 1 {
		t.Errorf("it was started twice: %d and %d, %d boots", c.Pid(), again.Pid(), again.Boots())
	}
	must(t, syscall.Kill(c.Pid(), syscall.SIGKILL))
	if e, err := c.Wait(context.Background()); err != nil || !e.Known || e.Signal != 9 || e.Code != -1 {
		t.Errorf("got %+v, %v", e, err)
	}
	c = w.start("web", spec)
	c.want("ls /etc/pushed 2>/dev/null; cat /etc/only "+scratch+"/kept", "base\nkept")
	if c.Boots() != 2 {
		t.Errorf("%d boots", c.Boots())
	}
	c.wantLog("began\nbegan\n")
	spec.ID = "two" // another image: nothing of the former one is there
	c = w.start("web", spec)
	c.want("cat /etc/both", "top")
	if c.Boots() != 1 {
		t.Errorf("%d boots", c.Boots())
	}
}

func TestHostWhatIsBoundIsInsideAndMayRefuseWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	spec := w.container("web", nil)
	host := t.TempDir()
	for _, name := range []string{"hosts", "data/file", "secret/namespace"} {
		path := filepath.Join(host, name)
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte(name+"\n"), 0o644))
	}
	top := spec.Layers[0]
	for path, to := range map[string]string{"var/run": "/run", "etc/resolv.conf": "../run/resolve/stub.conf", "escape": "../../../../../../../" + host, "loop": "loop"} {
		must(t, os.MkdirAll(filepath.Dir(filepath.Join(top, path)), 0o755))
		must(t, os.Symlink(to, filepath.Join(top, path)))
	}
	spec.Binds = append(spec.Binds,
		isolate.Bind{From: host + "/hosts", To: "/etc/hosts", ReadOnly: true},
		isolate.Bind{From: host + "/hosts", To: "/etc/resolv.conf"},
		isolate.Bind{From: host + "/data", To: "/srv/a/b"},
		isolate.Bind{From: host + "/data", To: "/srv/ro", ReadOnly: true},
		isolate.Bind{From: host + "/secret", To: "/var/run/secrets/account", ReadOnly: true},
		isolate.Bind{From: host + "/data", To: "/escape/made"},
	)
	c := w.start("web", spec)
	c.want("cat /etc/hosts /etc/resolv.conf /srv/ro/file /run/secrets/account/namespace", "hosts\nhosts\ndata/file\nsecret/namespace")
	for _, path := range []string{"/etc/hosts", "/srv/ro/file", "/srv/ro/new", "/var/run/secrets/account/namespace", "/sys/kernel/new"} {
		if got := c.run("echo changed >" + path); !strings.Contains(got, "Read-only") && !strings.Contains(got, "cannot create") {
			t.Errorf("%s: %q", path, got)
		}
	}
	c.want("echo changed >/srv/a/b/file; cat /srv/ro/file", "changed")
	// What the host writes to the file is seen inside.
	must(t, os.WriteFile(host+"/hosts", []byte("current\n"), 0o644))
	c.want("cat /etc/hosts", "current")
	// A link of the image leads nowhere but in its own root.
	if _, err := os.Stat(host + "/made"); !os.IsNotExist(err) {
		t.Errorf("a link of the image leads to the host: %v", err)
	}
	c.want("ls /escape/made", "file")
	for path, why := range map[string]string{"/loop/x": "symbolic links", "/etc/both/x": "in the way", "relative": "not valid"} {
		bad := w.container("bad", nil)
		bad.Binds = append(bad.Binds, isolate.Bind{From: host + "/data", To: path})
		if _, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, "bad"), bad); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", path, err)
		}
	}
}
