package charmbuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// fake writes a python3 that does what a script says.
func fake(t *testing.T, script string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "python3"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestPackagesAreMadeByThePythonOfTheHooks: whatever the PATH of who asks for
// them has.
func TestPackagesAreMadeByThePythonOfTheHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "left==1.0\n"})
	log := filepath.Join(t.TempDir(), "log")
	// As pyenv's it goes by the directory, and by what the environment has.
	dir := fake(t, `echo "$PWD ${VIRTUAL_ENV-} ${HOME-}" >> `+log+`; PATH=`+os.Getenv("PATH")+` exec python3 "$@"`)
	w.Hooks.Path = dir + ":/usr/bin:/bin"
	w.want(1, "left-1.0")
	w.write(".python-version", "3.99\n") // the charm has it too
	w.want(1, "left-1.0")
	said, err := os.ReadFile(log)
	real, rerr := filepath.EvalSymlinks(w.dir)
	if err != nil || rerr != nil || string(said) != "/  \n"+real+"  \n" {
		t.Errorf("it was asked in %q, %v", said, err)
	}
}

func TestWhereHooksHaveNoPythonThatIsSaidBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	for _, dir := range []string{"usr/bin", "etc/alternatives"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"usr/bin/python3": "/etc/alternatives/python3", "etc/alternatives/python3": "../../usr/bin/python3.99"} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	broken := fake(t, "echo 'pyenv: version 3.99 is not installed' >&2; exit 1")
	for _, row := range []struct {
		name  string
		hooks Place
		want  string
	}{
		{"none on their PATH", Place{Path: "/nowhere:bin"}, "the charm's hooks will have no python3 on their PATH (/nowhere:bin), and the charm needs it: install Python 3 with pip"},
		{"one that doesn't run", Place{Path: broken}, "cannot run " + broken + "/python3 as the charm's hooks would: pyenv: version 3.99 is not installed"},
		{"a root with another one", Place{Path: "/bin:/usr/bin", Root: root}, "the charm's hooks will run with the python3.99 of " + root +
			", and there is none here to install packages for it: pack the charm where there is, and deploy the .charm file"},
		{"a root without one", Place{Path: "/bin", Root: root}, "there is no python3 in " + root + ", where the charm's hooks will run, and the charm needs it"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "plugin: charm", map[string]string{"requirements.txt": "left\n"})
			w.Hooks = row.hooks
			_, err := w.build(t.Context())
			if err == nil || err.Error() != "cannot build charm "+w.dir+": "+row.want || w.made != 0 {
				t.Errorf("got  %v, made %d\nwant %s", err, w.made, row.want)
			}
		})
	}
}

// TestAPythonWithoutPipTakesAnothers: that of Debian's package, where it is bare.
func TestAPythonWithoutPipTakesAnothers(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: uv", map[string]string{"pyproject.toml": "[project]\nname = 'a'\ndependencies = ['left<2']\n"})
	// It has no packages of its own, and says that it is called by this path.
	bare := fake(t, `exec `+realPython(t)+` -S -c '
import sys
sys.executable = sys.argv.pop(1)
if sys.argv[1] == "-m":
    import runpy
    sys.argv = sys.argv[2:]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    source = sys.argv[2]
    sys.argv = ["-c", *sys.argv[3:]]
    exec(source)
' "$0" "$@"`)
	w.Hooks.Path = bare + ":/usr/bin:/bin"
	w.want(1, "left-1.0")
}

func realPython(t *testing.T) string {
	t.Helper()
	found, err := Place{}.python(t.Context(), newWorld(t, "plugin: charm", nil).project())
	if err != nil {
		t.Fatal(err)
	}
	return found.path
}

// TestWhatIsNotFollowedIsToldOnce for a charmcraft.yaml.
func TestWhatIsNotFollowedIsToldOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "plugin: charm, override-build: make", nil)
	var told []string
	w.Note = func(what string) { told = append(told, what) }
	w.want(0)
	w.write("src/charm.py", "# changed")
	w.want(0)
	w.write("charmcraft.yaml", "name: a\ntype: charm\nparts: {x: {plugin: charm, override-build: make, stage-packages: [tree]}}\n")
	w.want(0)
	w.want(0)
	if want := []string{"x: override-build", "x: override-build, x: stage-packages"}; !slices.Equal(told, want) {
		t.Errorf("got %q", told)
	}
	if strings.Contains(strings.Join(told, ""), "\n") {
		t.Error("it isn't one line")
	}
}

// TestAPipThatIsForAnotherPythonIsNotTaken: what was tried with it is gone, as a
// virtual environment's pip is taken then.
func TestAPipThatIsForAnotherPythonIsNotTaken(t *testing.T) {
	t.Parallel()
	in := install{python: interpreter{path: filepath.Join(fake(t, "exit 1"), "python3")}, work: t.TempDir()}
	if in.borrowed(t.Context()) {
		t.Error("it was taken")
	}
	if _, err := os.Lstat(in.lent()); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}
