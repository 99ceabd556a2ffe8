package charmdir

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"github.com/juju/errors"
)

// patience is how many times the quiet time a tree that is written to all the
// time may put off that anybody is told.
const patience = 10

// Watch tells when something was saved in the tree of the charm in dir: once
// nothing has been written for the quiet time, and at last after ten times that.
// The channel has room for one, so that who is busy misses nothing, and is
// closed when ctx ends. What can't matter to the charm isn't told of: version
// control, caches, what editors and builds leave; see Passing. A tree that is
// taken away and put back, as some builds do, goes on being watched.
func Watch(ctx context.Context, dir string, quiet time.Duration) (<-chan struct{}, error) {
	root, err := filepath.EvalSymlinks(dir)
	if err == nil {
		root, err = filepath.Abs(root)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot watch the charm")
	}
	notify, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, errors.Annotate(err, "cannot watch the charm")
	}
	w := &treeWatch{root: root, notify: notify, saved: make(chan struct{}, 1), quiet: quiet}
	// What is above it tells when the tree itself comes back.
	err = notify.Add(filepath.Dir(root))
	if err == nil {
		err = w.add(root)
	}
	if err != nil {
		notify.Close()
		return nil, errors.Annotate(err, "cannot watch the charm")
	}
	go func() {
		defer close(w.saved)
		defer notify.Close()
		w.run(ctx)
	}()
	return w.saved, nil
}

// treeWatch watches one tree.
type treeWatch struct {
	root   string
	notify *fsnotify.Watcher
	saved  chan struct{}
	quiet  time.Duration
}

// run tells of what was saved until ctx ends.
func (w *treeWatch) run(ctx context.Context) {
	timer := time.NewTimer(w.quiet)
	timer.Stop()
	var first time.Time // of what nobody was told of
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-w.notify.Events:
			if !w.matters(e) {
				continue
			}
		case <-w.notify.Errors:
			// The kernel's queue has overflown, most likely: something was saved.
		case <-timer.C:
			first = time.Time{}
			select {
			case w.saved <- struct{}{}:
			default:
			}
			continue
		}
		now := time.Now()
		if first.IsZero() {
			first = now
		}
		timer.Reset(max(min(w.quiet, time.Until(first.Add(patience*w.quiet))), 0))
	}
}

// matters says whether an event is about the charm, and watches directories
// that are new.
func (w *treeWatch) matters(e fsnotify.Event) bool {
	name, err := filepath.Rel(w.root, e.Name)
	if err != nil || name == ".." || strings.HasPrefix(name, ".."+string(filepath.Separator)) || name != "." && Passing(filepath.ToSlash(name)) {
		return false
	}
	if e.Has(fsnotify.Create) {
		// What can't be watched can't be read either: that is told by who reads.
		_ = w.add(e.Name)
	}
	return true
}

// add watches the directory at path, if it is one, with all below it.
func (w *treeWatch) add(path string) error {
	return filepath.WalkDir(path, func(p string, d fs.DirEntry, err error) error {
		if os.IsNotExist(err) {
			return nil // it went meanwhile
		}
		if err != nil || !d.IsDir() {
			return err
		}
		if name, err := filepath.Rel(w.root, p); err == nil && name != "." && Passing(filepath.ToSlash(name)) {
			return fs.SkipDir
		}
		return w.notify.Add(p)
	})
}

// Passing says whether what is at a path below a charm's tree, with slashes,
// comes and goes while people work on the charm, and is nothing to deploy it
// anew for: version control, caches, editors' files, and what builds leave.
func Passing(name string) bool {
	parts := strings.Split(name, "/")
	// A "build" may well have the program that the charm runs.
	if slices.Contains([]string{"dist", "parts", "prime", "stage"}, parts[0]) || leftOut(name) {
		return true
	}
	return slices.ContainsFunc(parts, func(part string) bool {
		switch part {
		case ".git", ".hg", ".svn", ".bzr", ".idea", ".vscode", ".tox", ".nox", "__pycache__",
			".mypy_cache", ".pytest_cache", ".ruff_cache", ".coverage", ".venv", "4913", ".DS_Store":
			return true
		}
		for _, pattern := range []string{"*.swp", "*.swo", "*.swx", "*~", ".#*", "#*#", "*.pyc", "*.charm", "*.tmp", "*.o"} {
			if ok, _ := filepath.Match(pattern, part); ok {
				return true
			}
		}
		return false
	})
}
