package charmbuild

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/pattern"
)

// Place is where a charm's hooks run, as far as their Python depends on it. The
// shell that a person builds the charm in may have another one: that of pyenv,
// conda or a virtual environment.
type Place struct {
	// Path is the hooks' PATH after their tools; empty is this process's own.
	Path string
	// Dir is a directory that is as far as they see theirs, for what chooses a
	// Python by the directory; empty: it doesn't matter.
	Dir string
	// Root is the directory that is their root; empty is this host's.
	Root string
}

// interpreter is a Python.
type interpreter struct {
	path string
	id   string // what packages for it depend on
	pip  bool   // it has pip
}

// about has a Python say what it is.
const about = `
import importlib.util, sys, sysconfig
pip = importlib.util.find_spec("pip") is not None
print(sys.executable, pip, sys.implementation.cache_tag, sysconfig.get_platform(), sep="\n")
`

// python finds the Python that hooks run with, or one for which packages are the
// same. The error, NotFound, says where there is none.
func (h Place) python(ctx context.Context, p *charmdir.Project) (interpreter, error) {
	path := cmp.Or(h.Path, os.Getenv("PATH"))
	dir := h.Dir
	if p.Takes(".python-version") {
		dir = p.Dir // pyenv and its like go by that
	}
	if h.Root != "" && filepath.Clean(h.Root) != "/" {
		return h.inRoot(ctx, path, dir)
	}
	program := lookPath("python3", path)
	if program == "" {
		return interpreter{}, errors.NewNotFound(nil, fmt.Sprintf("the charm's hooks will have no python3 on their PATH (%s), and the charm needs it: install Python 3 with pip", path))
	}
	return ask(ctx, program, path, dir)
}

// inRoot finds a Python of this host that is the one in the root.
func (h Place) inRoot(ctx context.Context, path, dir string) (interpreter, error) {
	version := ""
	for _, d := range filepath.SplitList(path) {
		if version = pythonIn(h.Root, filepath.Join(d, "python3")); version != "" {
			break
		}
	}
	if version == "" {
		return interpreter{}, errors.NewNotFound(nil, fmt.Sprintf("there is no python3 in %s, where the charm's hooks will run, and the charm needs it", h.Root))
	}
	for _, places := range []string{path, os.Getenv("PATH")} {
		for _, name := range []string{version, "python3"} {
			program := lookPath(name, places)
			if program == "" {
				continue
			}
			if found, err := ask(ctx, program, places, dir); err == nil && strings.HasPrefix(found.id, "cpython-"+strings.ReplaceAll(strings.TrimPrefix(version, "python"), ".", "")+" ") {
				return found, nil
			}
		}
	}
	return interpreter{}, errors.NewNotFound(nil, fmt.Sprintf(
		"the charm's hooks will run with the %s of %s, and there is none here to install packages for it: pack the charm where there is, and deploy the .charm file", version, h.Root))
}

var pythonName = pattern.New(`^python3\.\d+$`)

// pythonIn is the name with a version, "python3.12", that a link in a root leads
// to; empty: there is none.
func pythonIn(root, path string) string {
	for range 10 {
		if pythonName.MatchString(filepath.Base(path)) {
			return filepath.Base(path)
		}
		to, err := os.Readlink(filepath.Join(root, path))
		if err != nil {
			return ""
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = filepath.Clean("/" + to)
	}
	return ""
}

// lookPath is the executable of that name on a PATH; empty: there is none.
func lookPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue // a hook is in another directory
		}
		at := filepath.Join(dir, name)
		if st, err := os.Stat(at); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return at
		}
	}
	return ""
}

// ask has a Python say what it is, with no more in its environment than a hook has.
func ask(ctx context.Context, program, path, dir string) (interpreter, error) {
	cmd := command(ctx, program, "-c", about)
	cmd.Dir = cmp.Or(dir, "/")
	cmd.Env = []string{"PATH=" + path, "LANG=C.UTF-8"}
	out, err := cmd.Output()
	if ctx.Err() != nil {
		return interpreter{}, errors.Trace(ctx.Err())
	}
	lines := strings.Split(string(out), "\n")
	if err == nil && len(lines) < 4 {
		err = errors.New("it doesn't report its version")
	}
	var failed *exec.ExitError
	if errors.As(err, &failed) && len(failed.Stderr) > 0 {
		err = errors.New(lastLine(string(failed.Stderr)))
	}
	if err != nil {
		return interpreter{}, errors.Annotatef(err, "cannot run %s as the charm's hooks would", program)
	}
	return interpreter{path: cmp.Or(lines[0], program), pip: lines[1] == "True", id: lines[2] + " " + lines[3]}, nil
}
