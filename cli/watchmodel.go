package cli

import (
	"context"
	stderrors "errors"
	"os"
	"path/filepath"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
)

// watching is one run of "unitd watch": a private model and its agent, both in
// this process, and the charm whose saves they follow.
type watching struct {
	app   watchVerbs
	path  string   // of the charm
	apps  []string // that have it
	saved <-chan struct{}
	view  *watchView

	dir   string // UNITD_DATA of the private model
	store *sqlite.Store
	model *state.Model
	lock  *agent.Lock
	cells *isolate.Cells // of its units
	stop  context.CancelFunc
	ended chan error // how the agent has ended
	// before is the model as it was last shown.
	before model.Picture
	// again: something was saved while a round went on.
	again bool
}

// watchedModel is the name of the private model.
const watchedModel = "watch"

// startWatching makes the private model and starts its agent. The caller ends
// it.
func (a watchVerbs) startWatching(path string, apps []string, saved <-chan struct{}) (_ *watching, err error) {
	if err := clearFormer(); err != nil {
		a.Note("WARNING cannot remove what is left of a former watch: %v", err)
	}
	w := &watching{app: a, path: path, apps: apps, saved: saved}
	if w.dir, err = os.MkdirTemp("", watchDir); err != nil {
		return nil, errors.Annotate(err, "cannot make a private model")
	}
	defer func() {
		if err != nil {
			w.end()
		}
	}()
	if w.lock, err = agent.LockAt(filepath.Join(w.dir, "agent.lock")); err != nil {
		return nil, errors.Trace(err)
	}
	log := agent.NewLog(a.Err)
	if w.store, err = sqlite.Open(filepath.Join(w.dir, "store.db"), sqlite.Options{Log: log}); err != nil {
		return nil, errors.Trace(err)
	}
	controller := state.NewController(w.store, clock.WallClock).WithSealer(agent.Sealer(w.dir, nil))
	if w.model, err = controller.AddModel(a.Context(), watchedModel); err != nil {
		return nil, errors.Trace(err)
	}
	// The next save is the retry.
	if err = w.model.SetModelConfig(a.Context(), map[string]string{state.RetryHooks: "false"}, nil); err != nil {
		return nil, errors.Trace(err)
	}
	c, err := a.ConfigIn(w.dir, controller)
	if err != nil {
		return nil, err
	}
	w.view = newWatchView(a.base, w.model, path, w.dir)
	c.Observer, w.cells = w.view.event, c.Cells
	ctx, stop := context.WithCancel(a.Context())
	w.stop, w.ended = stop, make(chan error, 1)
	go func() { w.ended <- agent.Run(ctx, c) }()
	return w, nil
}

// end ends the agent and what hooks have left running, and removes the model.
func (w *watching) end() {
	if w.stop != nil {
		w.stop()
		<-w.ended
	}
	if w.cells != nil {
		if err := removeCells(w.cells); err != nil {
			w.app.Note("WARNING cannot remove the machines of the private model: %v", err)
		}
	}
	if w.model != nil {
		runner.EndLeftover(context.WithoutCancel(w.app.Context()), "JUJU_MODEL_UUID="+w.model.UUID())
		runner.OpenCgroups(w.dir).Close() // which it was in
	}
	if w.store != nil {
		if err := w.store.Close(); err != nil {
			w.app.Note("WARNING %v", err)
		}
	}
	if w.lock != nil {
		w.lock.Release()
	}
	if err := charmdir.RemoveTree(w.cells.Through(durable.Disk{}), w.dir); err != nil {
		w.app.Note("WARNING cannot remove the private model: %v", err)
	}
}

// removeCells removes all cells of an agent that has ended.
func removeCells(cells *isolate.Cells) error {
	keys, err := cells.Keys()
	failed := []error{err}
	for _, key := range keys {
		failed = append(failed, cells.Remove(key))
	}
	return stderrors.Join(failed...)
}

// clearFormer removes what is left of private models whose watch was killed: the
// machines of their units would go on.
func clearFormer() error {
	dirs, err := filepath.Glob(filepath.Join(os.TempDir(), watchDir, "cells"))
	failed := []error{err}
	for _, cells := range dirs {
		dir := filepath.Dir(cells)
		lock, err := agent.LockAt(filepath.Join(dir, "agent.lock"))
		if err != nil {
			continue // it goes on, or is another user's
		}
		of := machine.NewCells(dir, "")
		failed = append(failed, removeCells(of), charmdir.RemoveTree(of.Through(durable.Disk{}), dir))
		of.Close()
		lock.Release()
	}
	return stderrors.Join(failed...)
}

// watchDir are the names of private models' directories.
const watchDir = "unitd-watch-*"

// failedUnit is a unit in error.
type failedUnit struct {
	name    model.UnitName
	message string
}

// inError are the units in error.
func (w *watching) inError() ([]failedUnit, error) {
	s, err := w.model.Status(w.app.Context())
	if err != nil {
		return nil, err
	}
	var failed []failedUnit
	for _, app := range s.Applications {
		for _, u := range app.Units {
			if u.Workload.Status == model.StatusError {
				failed = append(failed, failedUnit{u.Name, u.Workload.Message})
			}
		}
	}
	return failed, nil
}

// failed is the error of a model in which something has failed.
func (w *watching) failed() error {
	s, err := w.model.Status(w.app.Context())
	if err != nil {
		return err
	}
	statusWithAuthors(s, w.app.sources(w.model))
	return settledWith(s, false)
}
