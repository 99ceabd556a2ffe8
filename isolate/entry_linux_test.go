package isolate_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// TestHostAProgramOfACellHasNothingOfWhoHasStartedIt: no files but its own three, no
// ignored or blocked signals, the umask and the limit to files of all machines.
func TestHostAProgramOfACellHasNothingOfWhoHasStartedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	secret, err := os.Open(w.dir)
	must(t, err)
	defer secret.Close()
	program, args := c.Command("/", "/bin/sh", "-c", `
		ls /proc/self/fd | tr '\n' ' '; umask; ulimit -n
		grep -E '^Sig(Blk|Ign)' /proc/self/status | tr '\n\t' '  '`)
	// A shell that lets a file through, and ignores signals.
	shell := exec.Command("/bin/sh", append([]string{"-c", `umask 077; trap '' PIPE TERM USR1; exec "$0" "$@"`, program}, args...)...)
	shell.ExtraFiles = []*os.File{secret}
	out, err := shell.CombinedOutput()
	must(t, err)
	got := strings.Join(strings.Fields(string(out)), " ")
	const nothing = "0000000000000000"
	var files syscall.Rlimit
	must(t, syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files))
	limit := strconv.FormatUint(min(files.Max, 64000), 10)
	// ls has the directory open that it lists.
	if want := "0 1 2 3 0022 " + limit + " SigBlk: " + nothing + " SigIgn: " + nothing; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestHostAProgramOpensItsOutputByName, as root and as another user.
func TestHostAProgramOpensItsOutputByName(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "echo out >/dev/stdout; echo err >/dev/stderr", "out\nerr")
	must(t, c.RunAs(isolate.Person{UID: 7, GID: 8}))
	want(t, c, "id -u; echo out >/dev/stdout; echo err >/dev/stderr", "7\nout\nerr")
}

// TestHostAProgramOfACellEndsWithWhoWaitsForIt.
func TestHostAProgramOfACellEndsWithWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	program, args := c.Command("/", "/bin/sh", "-c", "echo $$; exec sleep 100000")
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	must(t, err)
	must(t, cmd.Start())
	number := make([]byte, 32)
	n, err := out.Read(number)
	must(t, err)
	must(t, cmd.Process.Kill())
	_ = cmd.Wait()
	want(t, c, "while kill -0 "+strings.TrimSpace(string(number[:n]))+" 2>/dev/null; do sleep 0.01; done; echo gone", "gone")
}

// TestHostUsersOfACellAreNobodysOnTheHost: each machine has ids of its own, and files
// have on the host the numbers that they have inside.
func TestHostUsersOfACellAreNobodysOnTheHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, second := w.open("app/0", model.IsolateFiles), w.open("app/1", model.IsolateFiles)
	if _, size := first.Numbers(); size == 0 {
		t.Skipf("not here: %s", first.Lost())
	}
	a, n := first.Numbers()
	b, _ := second.Numbers()
	if n != 1<<16 || a < 1<<19 || b < 1<<19 || a < b+n && b < a+n {
		t.Errorf("the ranges begin at %d and %d, and have %d", a, b, n)
	}
	want(t, first, "head -n1 /proc/self/uid_map | tr -s ' '; id -u; touch /etc/roots; touch /etc/own; chown 33:34 /etc/own; stat -c %u:%g /etc/own /etc/passwd; (exec sleep 100000 >/dev/null 2>&1 & echo $! >/run/pid)",
		"0 "+strconv.Itoa(a)+" 65535\n0\n33:34\n0:0")
	for file, owner := range map[string]uint32{"roots": 0, "own": 33} {
		var st unix.Stat_t
		must(t, unix.Stat(filepath.Join(first.Dir(), "layers/root/upper/etc", file), &st))
		if st.Uid != owner {
			t.Errorf("%s is %d's on the host, want %d's", file, st.Uid, owner)
		}
	}
	// A user of rocks is there, what is bound in keeps its owners, and what the host opens
	// for the cell belongs to whom it should.
	bound := filepath.Join(w.dir, "bound")
	must(t, os.Mkdir(bound, 0o755))
	must(t, os.WriteFile(filepath.Join(bound, "file"), nil, 0o640))
	must(t, os.Chown(filepath.Join(bound, "file"), 1000, 584792))
	must(t, first.Attach("bound", bound, "/srv/bound"))
	want(t, first, "stat -c %u:%g /srv/bound/file; chown 584792:7 /srv/bound/file", "1000:584792")
	var st unix.Stat_t
	must(t, unix.Stat(filepath.Join(bound, "file"), &st))
	if st.Uid != 584792 || st.Gid != 7 {
		t.Errorf("it is %d:%d's on the host", st.Uid, st.Gid)
	}
	must(t, first.Mkdir("/opt/made", 0o700))
	f, err := first.OpenFile("/opt/made/file", os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	must(t, first.Chown(f, 0, 8))
	f.Close()
	want(t, first, "stat -c %u:%g /opt/made /opt/made/file", "0:0\n0:8")
	must(t, first.RunAs(isolate.Person{UID: 7, GID: 8}))
	f, err = first.OpenAsPerson("/tmp/mine", os.O_CREATE|os.O_WRONLY, 0o600)
	must(t, err)
	f.Close()
	want(t, first, "stat -c %u:%g /tmp/mine", "7:8")
	must(t, first.RunAs(isolate.Person{}))
	pids, err := filepath.Glob("/proc/[0-9]*")
	must(t, err)
	for _, p := range pids {
		var st syscall.Stat_t
		if syscall.Stat(p, &st) == nil && st.Uid == uint32(a) {
			return
		}
	}
	t.Errorf("nobody on the host has the id %d", a)
}

// TestHostAMachineThatIsStartedAnewFindsItsFiles, whatever ids it has then.
func TestHostAMachineThatIsStartedAnewFindsItsFiles(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.open("app/0", model.IsolateFiles)
	want(t, c, "touch /etc/own; chown 33:34 /etc/own; rm -r /etc/apt; mkdir /etc/apt; touch /etc/apt/new; rm /etc/passwd; cp -r /etc/default /etc/default2; mv /etc/default2 /etc/default3; echo ok", "ok")
	must(t, w.cells.Halt())
	w.open("app/1", model.IsolateFiles) // which takes ids that are free
	c = w.open("app/0", model.IsolateFiles)
	want(t, c, "stat -c %u:%g /etc/own; ls /etc/apt; ls /etc/passwd 2>/dev/null; ls -d /etc/default3", "33:34\nnew\n/etc/default3")
}
