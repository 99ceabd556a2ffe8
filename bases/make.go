package bases

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// How says how a base is made.
type How struct {
	// From is the kind of what Fetch takes; empty: it chooses.
	From Kind
	// Asked is what whoever makes it wants, Host what the host has where nothing else is
	// said.
	Asked Asked
	Host  Host
	// Progress gets what programs print; nil is nowhere. Say gets lines for whoever makes
	// it; nil is nowhere.
	Progress io.Writer
	Say      func(line string)
}

// work is a version that is being made.
type work struct {
	Store
	how      How
	name     string
	recipe   Recipe
	settings settings
	// dir is its directory, which has the root and what else is needed meanwhile.
	dir string
}

func (w *work) root() string { return filepath.Join(w.dir, rootName) }

func (w *work) say(format string, args ...any) {
	if w.how.Say != nil {
		w.how.Say(fmt.Sprintf(format, args...))
	}
}

// make makes a version of a base: its first one, or another one of one that is there.
func (s Store) make(ctx context.Context, name string, r Recipe, how How, again bool) (Base, error) {
	base, err := model.ParseBase(name)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	name = base.String()
	if os.Geteuid() != 0 {
		return Base{}, errors.NewForbidden(nil, "only root can make a base, whose files belong to users of its own")
	}
	unlock, err := s.lock()
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	defer unlock()
	if _, err := s.Find(name); err == nil && !again {
		return Base{}, errors.NewAlreadyExists(nil, fmt.Sprintf("there is a base %s already: unitd base update %s makes it anew", name, name))
	}
	w := &work{Store: s, how: how, name: name, recipe: r, dir: filepath.Join(s.Dir, newPrefix+name)}
	var taken string
	w.settings, taken = settle(r.Asked, how.Host)
	if taken != "" {
		w.say("taken from this host: %s", taken)
	}
	defer func() { _ = s.clear(w.dir) }()
	if err := w.makeIt(ctx); err != nil {
		return Base{}, errors.Annotatef(err, "cannot make base %s", name)
	}
	if err := s.put(w.dir, name); err != nil {
		return Base{}, errors.Annotatef(err, "cannot make base %s", name)
	}
	return s.Find(name)
}

// makeIt makes all that the version's directory is to have.
func (w *work) makeIt(ctx context.Context) error {
	if err := os.MkdirAll(w.root(), 0o755); err != nil {
		return errors.Trace(err)
	}
	digest, err := w.fill(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	if err := plainFiles(w.root()); err != nil { // before anything in there is opened
		return errors.Trace(err)
	}
	if err := w.complete(ctx); err != nil {
		return errors.Trace(err)
	}
	if err := normalise(w.root()); err != nil {
		return errors.Trace(err)
	}
	if digest == "" {
		if digest, err = packagesDigest(w.root()); err != nil {
			return errors.Trace(err)
		}
	}
	if err := ctx.Err(); err != nil {
		return errors.Trace(err)
	}
	r := record{Base: Base{Name: w.name, Source: w.recipe.source(), Made: time.Now().UTC().Format(time.RFC3339), Digest: digest}, Recipe: w.recipe}
	text, err := json.Marshal(r)
	if err != nil {
		return errors.Trace(err)
	}
	// A proxy's address may have a password.
	return errors.Trace(os.WriteFile(filepath.Join(w.dir, recordName), append(text, '\n'), 0o600))
}

// put has a version that was made be the newest one.
func (s Store) put(dir, name string) error {
	versions, err := s.versions(name)
	if err != nil {
		return errors.Trace(err)
	}
	next := 1
	if len(versions) > 0 {
		next = versions[len(versions)-1] + 1
	}
	if err := os.MkdirAll(filepath.Join(s.Dir, name), 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := written(dir); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(dir, filepath.Join(s.Dir, name, strconv.Itoa(next))))
}

// lock waits until nobody else makes or removes bases, and clears away what was left.
func (s Store) lock() (unlock func(), err error) {
	if err := os.MkdirAll(s.Dir, 0o755); err != nil {
		return nil, errors.Trace(err)
	}
	f, err := os.Open(s.Dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for err = syscall.EINTR; err == syscall.EINTR; {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
	}
	if err != nil {
		f.Close()
		return nil, errors.Annotate(err, "cannot lock the bases")
	}
	left, _ := filepath.Glob(filepath.Join(s.Dir, newPrefix+"*"))
	for _, path := range left {
		if err := s.clear(path); err != nil {
			f.Close()
			return nil, errors.Trace(err)
		}
	}
	return func() { f.Close() }, nil
}

// cells are the machines in which programs run while a version is made, in its directory.
func (s Store) cells(dir string) *isolate.Cells {
	return &isolate.Cells{Dir: filepath.Join(dir, "cells"), Program: s.Program}
}

// clear removes a directory in which a version was made, with what still runs in it.
func (s Store) clear(dir string) error {
	cells := s.cells(dir)
	keys, err := cells.Keys()
	if err != nil {
		return errors.Trace(err)
	}
	for _, key := range keys {
		if err := cells.Remove(key); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(os.RemoveAll(dir))
}
