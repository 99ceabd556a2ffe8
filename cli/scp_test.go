package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/cli"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
)

// rooted are the files below a directory, as a unit's machine has them.
type rooted struct{ dir string }

func (r rooted) OpenFile(name string, flag int, perm fs.FileMode) (*os.File, error) {
	return os.OpenFile(filepath.Join(r.dir, name), flag, perm)
}

func (r rooted) Mkdir(name string, perm fs.FileMode) error {
	return os.Mkdir(filepath.Join(r.dir, name), perm)
}

// world has units whose files are below directories: app/0 and app/1, which have no
// containers, and pod/0, which has two: "run" is there, "off" isn't.
type world struct {
	*testing.T
	dir    string
	out    bytes.Buffer
	inside cli.Inside
}

func newWorld(t *testing.T) *world {
	w := &world{T: t, dir: t.TempDir()}
	at := func(name string) cli.Place {
		dir := filepath.Join(w.dir, strings.ReplaceAll(name, "/", "-"))
		if err := os.MkdirAll(filepath.Join(dir, "home"), 0o755); err != nil {
			t.Fatal(err)
		}
		return cli.Place{Files: rooted{dir}, Dir: "/home", UID: -1, GID: -1}
	}
	w.inside = cli.Inside{
		Streams: cli.Streams{In: strings.NewReader(""), Out: &w.out, Err: &w.out},
		Remote:  func(context.Context, string) (*cli.Remote, error) { return nil, nil },
		Unit: func(_ context.Context, name string) (cli.Unit, error) {
			u := cli.Unit{Name: model.UnitName(name), Files: func() (cli.Place, error) { return at(name), nil }}
			switch name {
			case "app/0", "app/1":
			case "pod/0", "pod/leader":
				u.Name, u.Containers = "pod/0", []string{"off", "run"}
			default:
				return u, errors.NewNotFound(nil, fmt.Sprintf("unit %q not found", name))
			}
			u.Shell = func(_ string, args ...string) (*exec.Cmd, error) { return exec.Command("/bin/sh", args...), nil }
			u.Workload = func(container string) (cli.Place, error) {
				if container == "off" {
					return cli.Place{}, errors.NotFoundf("cell")
				}
				return at(string(u.Name) + "/" + container), nil
			}
			u.Pebble = func(string) *pebble.Client { return pebble.New(filepath.Join(w.dir, "no.socket")) }
			return u, nil
		},
		Names:      func() []string { return []string{"app/0", "app/1", "pod/0"} },
		Containers: func(string) []string { return []string{"off", "run"} },
	}
	return w
}

// run runs one of the verbs.
func (w *world) run(args ...string) error {
	w.out.Reset()
	verbs := map[string]int{"ssh": 0, "scp": 1, "logs": 2}
	cmd := cli.Groups(w.inside)[0].Verbs[verbs[args[0]]].Make()
	cmd.SetArgs(args[1:])
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	return cmd.ExecuteContext(w.Context())
}

func (w *world) write(name, text string, perm fs.FileMode) string {
	w.Helper()
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		w.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), perm); err != nil {
		w.Fatal(err)
	}
	if err := os.Chmod(name, perm); err != nil {
		w.Fatal(err)
	}
	return name
}

// tree are the files of the world, each with what is in it.
func (w *world) tree() string {
	var all []string
	err := filepath.WalkDir(w.dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(name)
		all = append(all, strings.TrimPrefix(name, w.dir+"/")+"="+string(text))
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return strings.Join(all, " ")
}

// TestSCP says where copies go, and what is refused.
func TestSCP(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string // W is the directory of the world
		want string   // what is new in it
		err  string
	}{
		{"a file goes to its new name", []string{"W/a", "app/0:/x"}, "app-0/x=A", ""},
		{"a file goes into a directory", []string{"W/a", "app/0:/home"}, "app-0/home/a=A", ""},
		{"a relative path begins at home", []string{"W/a", "app/0:x"}, "app-0/home/x=A", ""},
		{"no path is home", []string{"W/a", "app/0:"}, "app-0/home/a=A", ""},
		{"a user is no part of the unit's name", []string{"W/a", "ubuntu@app/0:/x"}, "app-0/x=A", ""},
		{"a leader is a unit", []string{"W/a", "pod/leader:/x"}, "pod-leader/x=A", ""},
		{"a file comes from a unit", []string{"app/1:/there", "W/y"}, "y=T", ""},
		{"a unit's file goes to another unit", []string{"app/1:/there", "app/0:"}, "app-0/home/there=T", ""},
		{"several sources go into a directory", []string{"W/a", "app/1:/there", "W/d/b", "app/0:"}, "app-0/home/a=A app-0/home/b=B app-0/home/there=T", ""},
		{"several sources need a directory", []string{"W/a", "W/d/b", "app/0:/x"}, "", "cannot copy to app/0:/x: open .*no such file or directory"},
		{"several sources don't go to a file", []string{"W/a", "W/d/b", "app/1:/there"}, "", "cannot copy to app/1:/there: it is no directory"},
		{"a directory gets a new name", []string{"-r", "W/d", "app/0:/x"}, "app-0/x/b=B app-0/x/e/c=C", ""},
		{"a directory goes into one that is there", []string{"-r", "W/d", "app/0:/home"}, "app-0/home/d/b=B app-0/home/d/e/c=C", ""},
		{"a slash at the end of a source changes nothing", []string{"-r", "W/d/", "app/0:/home"}, "app-0/home/d/b=B app-0/home/d/e/c=C", ""},
		{"what is in a directory goes without it", []string{"-r", "W/d/.", "app/0:/home"}, "app-0/home/b=B app-0/home/e/c=C", ""},
		{"a directory goes with -r alone", []string{"W/d", "app/0:/x"}, "", "cannot copy .*/d: it is a directory, which -r copies"},
		{"what can be copied is, beside what can't", []string{"W/a", "W/d", "app/0:"}, "app-0/home/a=A", "it is a directory"},
		{"options of scp follow --", []string{"--", "-r", "-i", "KEY", "-oUser=x", "-P", "22", "W/d", "app/0:/x"}, "app-0/x/b=B app-0/x/e/c=C", ""},
		{"options may be written together", []string{"--", "-3qrp", "W/d", "app/0:/x"}, "app-0/x/b=B app-0/x/e/c=C", ""},
		{"options may follow the sources", []string{"W/d", "app/0:/x", "-r"}, "app-0/x/b=B app-0/x/e/c=C", ""},
		{"after a second -- there are no options", []string{"--", "--", "-r", "app/0:/x"}, "", "cannot copy -r: no such file or directory"},
		{"patterns stand for what there is", []string{"app/1:/log/*.log", "app/0:"}, "app-0/home/1.log=1 app-0/home/2.log=2", ""},
		{"patterns may be anywhere in a path", []string{"app/1:/l?g/[1]*", "app/0:"}, "app-0/home/1.log=1", ""},
		{"patterns without a match are no file", []string{"app/1:/log/*.txt", "app/0:"}, "", `cannot copy app/1:/log/\*.txt: no such file or directory`},
		{"several matches need a directory", []string{"app/1:/log/*.log", "app/0:/x"}, "", "several files match"},
		{"what isn't there is named", []string{"app/1:/nope", "W/y"}, "", "cannot copy app/1:/nope: no such file or directory"},
		{"a directory that isn't there is no place", []string{"W/a", "app/0:/nope/x"}, "", "cannot copy /nope/x: no such file or directory"},
		{"a unit that isn't there is named", []string{"W/a", "app/7:/x"}, "", `unit "app/7" not found`},
		{"a path may have a colon", []string{"W/a:b", "app/0:/x"}, "app-0/x=colon", ""},
		{"two words are the least", []string{"W/a"}, "", "at least two arguments required"},
		{"a host isn't copied to from a unit", []string{"app/1:/there", "ubuntu@10.0.0.1:"}, "", `cannot copy between a unit and "ubuntu@10.0.0.1:"`},
		{"a file isn't copied onto itself", []string{"app/1:/there", "app/1:/there"}, "", "cannot copy /there: it would be copied onto itself"},
		{"a directory may go into itself", []string{"-r", "W/d", "W/d/e"}, "d/e/d/b=B d/e/d/e/c=C", ""},
		{"what is no file isn't waited for", []string{"W/fifo", "app/0:/x"}, "", "cannot copy .*/fifo: it is no regular file"},

		{"K-126 a container's file is copied", []string{"--container", "run", "pod/0:/f", "W/y"}, "y=F", ""},
		{"K-126 three words are refused", []string{"--container", "run", "pod/0:/f", "W/a", "W/y"}, "", "only one source and one destination are allowed for a k8s application"},
		{"K-126 also without a container's name", []string{"pod/0:/f", "W/a", "W/y"}, "", "only one source and one destination are allowed for a k8s application"},
		{"a source alone isn't enough", []string{"--container", "run", "pod/0:/f"}, "", "source and destination are required"},
		{"a container takes directories without -r", []string{"--container", "run", "W/d", "pod/0:x"}, "pod-0-run/home/x/b=B pod-0-run/home/x/e/c=C", ""},
		{"without a name it is the charm's container", []string{"W/a", "pod/0:/x"}, "pod-0/x=A", ""},
		{"which has a name, too", []string{"--container", "charm", "W/a", "pod/0:/x"}, "pod-0/x=A", ""},
		{"a container that isn't there names those that are", []string{"--container", "nope", "W/a", "pod/0:/x"}, "", `container "nope" must be one of charm, off, run`},
		{"one that doesn't run is said to be so", []string{"--container", "off", "W/a", "pod/0:/x"}, "", `container "off" for unit "pod/0" is not ready yet`},
		{"another unit has no containers to choose from", []string{"--container", "any", "W/a", "app/0:/x"}, "app-0/x=A", ""},
		{"a container isn't on another host", []string{"--container", "run", "host:/f", "W/y"}, "", `"host:/f" must match format: \[UNIT:\]PATH`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.write("a", "A", 0o644)
			w.write("a:b", "colon", 0o644)
			w.write("d/b", "B", 0o644)
			w.write("d/e/c", "C", 0o644)
			w.write("app-0/home/.keep", "", 0o644)
			w.write("app-1/there", "T", 0o644)
			w.write("app-1/log/1.log", "1", 0o644)
			w.write("app-1/log/2.log", "2", 0o644)
			w.write("app-1/log/.hidden.log", "", 0o644)
			w.write("pod-0-run/f", "F", 0o644)
			if err := syscall.Mkfifo(filepath.Join(w.dir, "fifo"), 0o600); err != nil {
				t.Fatal(err)
			}
			before := strings.Fields(w.tree())
			args := []string{"scp"}
			for _, a := range c.args {
				if rest, ok := strings.CutPrefix(a, "W/"); ok {
					a = w.dir + "/" + rest
				}
				args = append(args, a)
			}
			err := w.run(args...)
			var added []string
			for _, f := range strings.Fields(w.tree()) {
				if !slices.Contains(before, f) {
					added = append(added, f)
				}
			}
			if got := strings.Join(added, " "); got != c.want {
				t.Errorf("new are %q, want %q", got, c.want)
			}
			if !matches(err, c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}

// TestSCPKeepsWhatItShould says which permissions, times and owners copies have.
func TestSCPKeepsWhatItShould(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	source := w.write("a", "new", fs.ModeSetuid|0o751)
	long := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	if err := os.Chtimes(source, long, long); err != nil {
		t.Fatal(err)
	}
	w.write("app-0/old", "longer than new", 0o604)
	for _, args := range [][]string{{source, "app/0:/fresh"}, {source, "app/0:/old"}, {"-p", source, "app/0:/kept"}} {
		if err := w.run(append([]string{"scp"}, args...)...); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]struct {
		mode fs.FileMode
		old  bool
	}{"fresh": {mode: 0o751 &^ umask}, "old": {mode: 0o604}, "kept": {mode: 0o751 | fs.ModeSetuid, old: true}} {
		st, err := os.Stat(filepath.Join(w.dir, "app-0", name))
		if err != nil {
			t.Fatal(err)
		}
		text, _ := os.ReadFile(filepath.Join(w.dir, "app-0", name))
		if string(text) != "new" || st.Mode() != want.mode || st.ModTime().Equal(long) != want.old {
			t.Errorf("%s: %q, %v, %v", name, text, st.Mode(), st.ModTime())
		}
	}
}

var umask = func() fs.FileMode {
	mask := syscall.Umask(0)
	syscall.Umask(mask)
	return fs.FileMode(mask)
}()

// TestHostsAreOpenSSHs: what is no unit goes to the program of that name.
func TestHostsAreOpenSSHs(t *testing.T) {
	w := newWorld(t)
	program := w.write("bin/scp", "#!/bin/sh\necho \"$@\"\nexit 3\n", 0o755)
	t.Setenv("PATH", filepath.Dir(program)+":"+os.Getenv("PATH"))
	err := w.run("scp", "-r", "--", "-P", "22", "x", "ubuntu@10.0.0.1:y")
	if got := w.out.String(); got != "-r -P 22 x ubuntu@10.0.0.1:y\n" {
		t.Errorf("scp was given %q", got)
	}
	var exit cli.Exit
	if !errors.As(err, &exit) || exit != 3 {
		t.Errorf("error %v, want scp's exit code", err)
	}
}

// TestSSHAndLogs say what is refused, and how a command ends.
func TestSSHAndLogs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		args []string
		out  string
		err  string
	}{
		{"one word is a script", []string{"ssh", "app/0", "echo a; echo b"}, "a\nb\n", ""},
		{"several are the words of a command", []string{"ssh", "app/0", "--", "echo", "a;  b"}, "a;  b\n", ""},
		{"what follows the unit is the command's", []string{"ssh", "app/0", "echo", "--container", "x"}, "--container x\n", ""},
		{"its exit code is the command's", []string{"ssh", "app/0", "exit 5"}, "", "exit 5"},
		{"a signal ends it as in a shell", []string{"ssh", "app/0", "kill -9 $$"}, "", "exit 137"},
		{"there is no unit of that name", []string{"ssh", "app/7"}, "", `unit "app/7" not found`},
		{"a target is needed", []string{"ssh"}, "", "no target name specified"},
		{"a container that isn't there names those that are", []string{"ssh", "--container", "nope", "pod/0"}, "", `container "nope" must be one of charm, off, run`},
		{"without a Pebble it isn't ready", []string{"ssh", "--container", "run", "pod/0", "ls"}, "", `container "run" for unit "pod/0" is not ready yet`},
		{"a unit without containers takes any", []string{"ssh", "--container", "x", "app/0", "echo a"}, "app/0 has no containers: --container is ignored\na\n", ""},

		{"a container has to be named, of several", []string{"logs", "pod/0"}, "", "pod/0 has several containers: name one of off, run"},
		{"the charm's own has no services", []string{"logs", "pod/0", "charm"}, "", `pod/0 has no services there: .*debug-log --include pod/0`},
		{"neither has another unit", []string{"logs", "app/0"}, "", "app/0 has no services there"},
		{"a container's name must be one", []string{"logs", "pod/0", "nope"}, "", `container "nope" must be one of off, run`},
		{"a container that isn't there has no logs", []string{"logs", "pod/0", "run"}, "", `container "run" for unit "pod/0" is not ready yet`},
		{"lines are a number", []string{"logs", "pod/0", "run", "-n", "x"}, "", `invalid value "x" for option --lines`},
		{"formats are two", []string{"logs", "pod/0", "run", "--format", "x"}, "", `unknown format "x"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			err := w.run(c.args...)
			if got := w.out.String(); got != c.out {
				t.Errorf("printed %q, want %q", got, c.out)
			}
			if !matches(err, c.err) {
				t.Errorf("error %v, want %q", err, c.err)
			}
		})
	}
}
