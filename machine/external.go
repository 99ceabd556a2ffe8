package machine

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/external"
	"github.com/unitd/unitd/state"
)

// OpenExternal opens another store, which is closed by end. The error says for people why it can't
// be opened.
type OpenExternal func(ctx context.Context, there state.ExternalDoc) (c *state.Controller, end func() error, err error)

// reopenAfter is how long another store that has failed is left alone.
const reopenAfter = 5 * time.Second

// externals have the relations of a model with those of other stores say the same on both sides. It
// works beside the units' agents, of an agent that has the models.
type externals struct {
	model *state.Model
	open  OpenExternal
	clock clock.Clock
	log   *slog.Logger
	poked chan struct{} // has room for one
	links map[string]bool
	ended chan string // the UUIDs of models whose links have ended
	wait  sync.WaitGroup
}

func (a *modelAgent) newExternals() *externals {
	return &externals{
		model: a.model, open: a.OpenExternal, clock: a.Clock, log: a.log,
		poked: make(chan struct{}, 1), links: map[string]bool{}, ended: make(chan string),
	}
}

// heed has it look, if a change may matter.
func (e *externals) heed(c state.Change) {
	if !c.Consumed && !c.Resync {
		return
	}
	select {
	case e.poked <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (e *externals) run(ctx context.Context) {
	defer e.wait.Wait()
	for {
		e.round(ctx)
		select {
		case <-ctx.Done():
			return
		case <-e.poked:
		case uuid := <-e.ended:
			delete(e.links, uuid)
		}
	}
}

// round has a link for each model of another store that there is.
func (e *externals) round(ctx context.Context) {
	all, err := e.model.Externals(ctx)
	if err != nil {
		if ctx.Err() == nil {
			e.log.Error("cannot read of which models of other stores something was consumed", "err", err)
		}
		return
	}
	for _, there := range all {
		if e.links[there.Model] {
			continue
		}
		e.links[there.Model] = true
		e.wait.Add(1)
		go func() {
			defer e.wait.Done()
			e.link(ctx, there)
			select {
			case e.ended <- there.Model:
			case <-ctx.Done():
			}
		}()
	}
}

// link keeps the relations with a model of another store until ctx ends, or there is nothing to
// keep. What fails is logged once, and tried again.
func (e *externals) link(ctx context.Context, there state.ExternalDoc) {
	said := ""
	for {
		err := e.linked(ctx, there)
		if err == nil || ctx.Err() != nil {
			return
		}
		if now, nerr := e.model.External(ctx, there.Model); nerr == nil {
			there = now
		}
		if errors.Is(err, external.ErrMoved) {
			continue
		}
		if err.Error() != said {
			said = err.Error()
			e.log.Warn("cannot keep the relations with a model of another store", "controller", there.Controller, "model", there.ModelName, "err", err)
		}
		if err := external.Fail(ctx, e.model, there.Model, errors.Annotatef(err, "controller %s", there.Controller)); err != nil && ctx.Err() == nil {
			e.log.Error("cannot note that a model of another store can't be reached", "err", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-e.clock.After(reopenAfter):
		}
	}
}

func (e *externals) linked(ctx context.Context, there state.ExternalDoc) error {
	if e.open == nil {
		return errors.NewNotSupported(nil, "the agent keeps no relations with other stores")
	}
	c, end, err := e.open(ctx, there)
	if err != nil {
		return errors.Trace(err)
	}
	l := external.Link{Here: e.model, There: c.Open(state.ModelInfo{UUID: there.Model, Name: there.ModelName}), Doc: there, Log: e.log}
	err = l.Run(ctx, e.clock)
	if eerr := end(); err == nil {
		err = eerr
	}
	return errors.Trace(err)
}
