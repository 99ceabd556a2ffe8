package testcharms

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// Dir returns the absolute path of the named charm's source folder. Nothing is
// checked: a name that isn't there gives a path that isn't there. The folder is
// for reading only; tests that change a charm take a Copy.
func Dir(name string) string {
	_, file, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(file), name)
}

// Copy copies the named charm to a new directory below tb.TempDir, ready to be
// deployed and free to be changed, and returns its path, whose last element is
// the charm's name. A charm that is a Go program (gobin) is built into its
// dispatch.
func Copy(tb testing.TB, name string) string {
	tb.Helper()
	to := filepath.Join(tb.TempDir(), name)
	if err := copyTree(Dir(name), to, nil); err != nil {
		tb.Fatalf("cannot copy charm %q: %v", name, err)
	}
	if _, err := os.Stat(filepath.Join(to, "main.go")); err != nil {
		return to
	}
	build := exec.Command("go", "build", "-o", filepath.Join(to, "dispatch"), ".")
	build.Dir = Dir(name)
	if out, err := build.CombinedOutput(); err != nil {
		tb.Fatalf("cannot build charm %q: %v\n%s", name, err, out)
	}
	return to
}

// CopyOps is CopyPython of opsy.
func CopyOps(tb testing.TB, venv string) string {
	tb.Helper()
	return CopyPython(tb, "opsy", venv)
}

// CopyPython is Copy of a charm that is written with Ops, as it is when it has been
// packed: nothing is built, or fetched, when it is deployed. venv is a Python
// virtual environment with what the charm imports, such as the one that "make test"
// keeps in .venv at the top, which has ops; its packages are copied into the charm's
// venv folder. A charm without a dispatch gets one.
func CopyPython(tb testing.TB, name, venv string) string {
	tb.Helper()
	to := Copy(tb, name)
	found, err := filepath.Glob(filepath.Join(venv, "lib", "python*", "site-packages"))
	if err != nil || len(found) != 1 {
		tb.Fatalf("cannot find the packages of the virtual environment %q: make it by python3 -m venv %[1]s && %[1]s/bin/pip install ops", venv)
	}
	if err := copyTree(found[0], filepath.Join(to, "venv"), installer); err != nil {
		tb.Fatalf("cannot copy the packages of %q: %v", venv, err)
	}
	if err := prime(to); err != nil {
		tb.Fatalf("cannot prepare charm %q: %v", name, err)
	}
	return to
}

// packedDispatch is like the one that is made for a charm with packages in venv.
const packedDispatch = `#!/bin/sh
export JUJU_DISPATCH_PATH="${JUJU_DISPATCH_PATH:-$0}"
export PYTHONPATH=lib:venv:src
exec python3 src/charm.py
`

// prime has a source tree run as it is: with a dispatch, and without parts to build.
func prime(dir string) error {
	dispatch := filepath.Join(dir, "dispatch")
	if _, err := os.Stat(dispatch); err == nil {
		return nil
	}
	if err := os.WriteFile(dispatch, []byte(packedDispatch), 0o755); err != nil {
		return errors.Trace(err)
	}
	path := filepath.Join(dir, "charmcraft.yaml")
	data, err := os.ReadFile(path)
	if err != nil {
		return errors.Trace(err)
	}
	tree := map[string]any{}
	if err := yaml.Unmarshal(data, &tree); err != nil {
		return errors.Annotate(err, path)
	}
	delete(tree, "parts")
	if data, err = yaml.Marshal(tree); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.WriteFile(path, data, 0o644))
}

// installer says which parts of a virtual environment install packages or
// are made on the fly: a charm does without them.
func installer(name string) bool {
	if name == "__pycache__" {
		return true
	}
	for _, prefix := range []string{"pip", "setuptools", "_distutils_hack", "distutils-precedence", "pkg_resources"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && (rest == "" || rest[0] == '-' || rest[0] == '.') {
			return true
		}
	}
	return false
}

// copyTree copies the tree below from, with its symbolic links and the files'
// permissions, to a new directory. What skip says of a name is left out, at any
// depth.
func copyTree(from, to string, skip func(name string) bool) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return errors.Trace(err)
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return errors.Trace(err)
		}
		if skip != nil && rel != "." && skip(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		return errors.Trace(copyEntry(path, filepath.Join(to, rel), d))
	})
}

func copyEntry(from, to string, d fs.DirEntry) error {
	switch {
	case d.IsDir():
		return errors.Trace(os.MkdirAll(to, 0o755))
	case d.Type() == fs.ModeSymlink:
		target, err := os.Readlink(from)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(os.Symlink(target, to))
	}
	info, err := d.Info()
	if err != nil {
		return errors.Trace(err)
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.WriteFile(to, data, info.Mode().Perm()))
}
