// Package charmbuild makes what a charm's source tree lacks to run: the
// packages that its program imports, installed by pip.
//
//	charmdir.Project ──key──▶ cache/KEY ──(made once, by pip --target)──▶ Charm.Built
//
// They are kept in a cache outside the tree, by a key of all that they were
// made from: the requirements and what these include, the settings of
// charmcraft.yaml, the Python. What is in the cache under a key is whole: it is
// made beside it and renamed, by one process at a time. Beside it the cache notes who
// has used it, so that what no model's charm was made with can be removed. The cache
// may be removed at any time.
//
// The layout is that of charmcraft's plugin "charm" for all plugins: a folder
// venv of packages, which any place and any Python of the version that made it
// can use, and no virtual environment with its paths inside. Source:
// docs/spec/ops-needs.md §5.
package charmbuild

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
)

// Builder builds charms.
type Builder struct {
	// Cache is the directory of the cache; it is made if it isn't there.
	Cache string
	// Begin is told, if it isn't nil, that packages have to be made, and what
	// of; not where the cache has them.
	Begin func(charm string, from []string)
	// Step is told, if it isn't nil, what is done at the moment: a few words.
	Step func(string)
	// End is told, if it isn't nil, how many packages have been made, and how
	// long it took.
	End func(packages int, took time.Duration)
	// Note is told, if it isn't nil, what of the project isn't followed, in a line:
	// once for a charmcraft.yaml, and once for packages that are made.
	Note func(string)
	// Hooks is where the charm's hooks will run: it is their Python that packages
	// are made for.
	Hooks Place
}

//go:embed requirements.py
var requirements string

// Build makes what the charm's Project asks for, if it has one and the cache
// hasn't got it, and says so to the charm; the tree isn't written to. The packages
// stay in the cache until what it returns is released, which is nil where there are
// none. Errors say in one line what is missing, or what pip couldn't do.
func (b Builder) Build(ctx context.Context, c *charmdir.Charm) (*Hold, error) {
	if c.Project == nil {
		return nil, nil
	}
	hold, err := b.packages(ctx, c.Name, c.Project)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot build charm %s", c.Path)
	}
	b.ignored(c)
	dir := ""
	if hold != nil {
		dir = hold.dir
	}
	c.Built(dir)
	return hold, nil
}

// packages has a project's packages in the cache; nil: it has none.
func (b Builder) packages(ctx context.Context, name string, p *charmdir.Project) (*Hold, error) {
	from, err := sources(p)
	if err != nil || len(from.files) == 0 && len(p.Packages) == 0 {
		return nil, err
	}
	python, err := b.Hooks.python(ctx, p)
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(b.Cache, from.key(p, python))
	for {
		if hold, err := b.hold(ctx, dir, name); hold != nil || err != nil {
			return hold, err
		}
		if err := b.make(ctx, dir, name, from.told(p), install{python: python, project: p}); err != nil {
			return nil, err
		}
	}
}

// hold has packages of the cache stay there; nil: there are none.
func (b Builder) hold(ctx context.Context, dir, charm string) (*Hold, error) {
	if !isDir(dir) {
		return nil, nil
	}
	lock, err := lockFile(ctx, dir+lockEnd, syscall.LOCK_SH, b.Step)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if isDir(dir) {
		return &Hold{lock: lock, dir: dir, charm: charm}, nil
	}
	lock.Close()
	return nil, nil
}

// make has packages in the cache, which it makes unless another process does.
func (b Builder) make(ctx context.Context, dir, name string, from []string, in install) error {
	if err := os.MkdirAll(b.Cache, 0o700); err != nil {
		return errors.Annotate(err, "cannot make the cache (UNITD_CACHE)")
	}
	unlock, err := b.lock(ctx, dir+lockEnd)
	if err != nil {
		return err
	}
	defer unlock()
	if isDir(dir) {
		return nil // another process was faster
	}
	// What a process left that was killed; nobody else has the lock.
	left, _ := filepath.Glob(dir + newEnd + "*")
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return errors.Annotate(err, "cannot clear the cache")
		}
	}
	began := time.Now()
	if b.Begin != nil {
		b.Begin(name, from)
	}
	made, err := os.MkdirTemp(b.Cache, filepath.Base(dir)+newEnd)
	if err != nil {
		return errors.Annotate(err, "cannot make the cache (UNITD_CACHE)")
	}
	defer os.RemoveAll(made)
	in.Builder, in.work, in.log = b, made, dir+logEnd
	if err := in.run(ctx); err != nil {
		return err
	}
	if b.End != nil {
		infos, _ := filepath.Glob(filepath.Join(in.target(), "*.dist-info"))
		b.End(len(infos), time.Since(began))
	}
	return errors.Annotate(os.Rename(in.target(), dir), "cannot put the packages into the cache")
}

// lock waits until no other process makes, or uses, the same packages.
func (b Builder) lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := lockFile(ctx, path, syscall.LOCK_EX, b.Step)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return func() { f.Close() }, nil
}

// toldDir is the folder of the cache with what people were told of.
const toldDir = "told"

// ignored tells what the charm's charmcraft.yaml says that isn't followed, unless it
// has been told of this charmcraft.yaml before.
func (b Builder) ignored(c *charmdir.Charm) {
	path, err := filepath.Abs(c.Path)
	if len(c.Project.Ignored) == 0 || b.Note == nil || err != nil {
		return
	}
	told := filepath.Join(b.Cache, toldDir, sum([]byte(path + "\x00" + c.Project.Says))[:32])
	if _, err := os.Stat(told); err == nil {
		return
	}
	b.Note(strings.Join(c.Project.Ignored, ", "))
	if os.MkdirAll(filepath.Dir(told), 0o700) == nil {
		_ = os.WriteFile(told, nil, 0o600) // it is told again, if that can't be kept
	}
}

// command is a program that ends, with all that it has started, when ctx does.
func command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	// With these, pip would install elsewhere; Python would import from elsewhere.
	own := []string{"PIP_TARGET", "PIP_USER", "PIP_PREFIX", "PIP_ROOT", "PIP_REQUIRE_VIRTUALENV", "PYTHONPATH", "PYTHONHOME"}
	cmd.Env = slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(own, name)
	})
	cmd.Env = append(cmd.Env, "PIP_USER=0", "PIP_REQUIRE_VIRTUALENV=0", "PYTHONDONTWRITEBYTECODE=1")
	return cmd
}

// told is what a person is told that the packages are made of.
func (s source) told(p *charmdir.Project) []string {
	var out []string
	for _, f := range s.files {
		out = append(out, f.name)
	}
	if n := len(p.Packages); n > 0 {
		out = append(out, fmt.Sprintf("%d named in charmcraft.yaml or by libraries", n))
	}
	return out
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}
