// Package charmbuild makes what a charm's source tree lacks to run: the
// packages that its program imports, installed by pip.
//
//	charmdir.Project ──key──▶ cache/KEY ──(made once, by pip --target)──▶ Charm.Built
//
// They are kept in a cache outside the tree, by a key of all that they were
// made from: the requirements and what these include, the settings of
// charmcraft.yaml, the Python. What is in the cache under a key is whole: it is
// made beside it and renamed, by one process at a time. The cache may be
// removed at any time.
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
// hasn't got it, and says so to the charm; the tree isn't written to. Errors
// say in one line what is missing, or what pip couldn't do.
func (b Builder) Build(ctx context.Context, c *charmdir.Charm) error {
	if c.Project == nil {
		return nil
	}
	dir, err := b.packages(ctx, c.Name, c.Project)
	if err != nil {
		return errors.Annotatef(err, "cannot build charm %s", c.Path)
	}
	b.ignored(c)
	c.Built(dir)
	return nil
}

// packages is the directory with a project's packages; empty if it has none.
func (b Builder) packages(ctx context.Context, name string, p *charmdir.Project) (string, error) {
	from, err := sources(p)
	if err != nil || len(from.files) == 0 && len(p.Packages) == 0 {
		return "", err
	}
	python, err := b.Hooks.python(ctx, p)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(b.Cache, from.key(p, python))
	if isDir(dir) {
		return dir, nil
	}
	if err := os.MkdirAll(b.Cache, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot make the cache (UNITD_CACHE)")
	}
	unlock, err := b.lock(ctx, dir+".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if isDir(dir) {
		return dir, nil // another process was faster
	}
	// What a process left that was killed; nobody else has the lock.
	left, _ := filepath.Glob(dir + ".new-*")
	for _, path := range left {
		if err := os.RemoveAll(path); err != nil {
			return "", errors.Annotate(err, "cannot clear the cache")
		}
	}
	began := time.Now()
	if b.Begin != nil {
		b.Begin(name, from.told(p))
	}
	made, err := os.MkdirTemp(b.Cache, filepath.Base(dir)+".new-")
	if err != nil {
		return "", errors.Annotate(err, "cannot make the cache (UNITD_CACHE)")
	}
	defer os.RemoveAll(made)
	in := install{Builder: b, python: python, project: p, work: made, log: dir + ".log"}
	if err := in.run(ctx); err != nil {
		return "", err
	}
	if b.End != nil {
		infos, _ := filepath.Glob(filepath.Join(in.target(), "*.dist-info"))
		b.End(len(infos), time.Since(began))
	}
	return dir, errors.Annotate(os.Rename(in.target(), dir), "cannot put the packages into the cache")
}

// lock waits until no other process makes the same packages.
func (b Builder) lock(ctx context.Context, path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Annotate(err, "cannot lock the cache")
	}
	for told := false; ; {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case err == nil:
			return func() { f.Close() }, nil
		case !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR):
			f.Close()
			return nil, errors.Annotate(err, "cannot lock the cache")
		case !told && b.Step != nil:
			b.Step("waiting for another unitd that makes the same packages")
		}
		told = true
		select {
		case <-ctx.Done():
			f.Close()
			return nil, errors.Trace(ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// ignored tells what the charm's charmcraft.yaml says that isn't followed, unless it
// has been told of this charmcraft.yaml before.
func (b Builder) ignored(c *charmdir.Charm) {
	path, err := filepath.Abs(c.Path)
	if len(c.Project.Ignored) == 0 || b.Note == nil || err != nil {
		return
	}
	told := filepath.Join(b.Cache, "told", sum([]byte(path + "\x00" + c.Project.Says))[:32])
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
