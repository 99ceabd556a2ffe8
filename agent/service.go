package agent

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/service"
	"github.com/unitd/unitd/telemetry"
)

// reporter tells the service manager that has begun this agent how it is: that it is ready,
// that it ends, what it does, and, if the manager wants to hear that, that it is well. Without
// a manager it does nothing.
type reporter struct {
	manager *service.Manager
	well    func(context.Context) error // what is wrong with the agent
	kick    chan struct{}               // has room for one: there is something new to say

	mu     sync.Mutex
	runs   int
	failed int
	last   string
}

// report has the service manager be told of an agent from now on, until the end is called.
func (h *Host) report(c *machine.Config) (r *reporter, end func(), err error) {
	manager, err := service.FindManager()
	if err != nil || manager == nil {
		return &reporter{}, func() {}, err
	}
	s := &sight{dir: c.Dir}
	models := c.Controller
	r = &reporter{manager: manager, kick: make(chan struct{}, 1), well: func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, lookEvery)
		defer cancel()
		if err := s.well(ctx); err != nil {
			return err
		}
		_, err := models.Models(ctx)
		return errors.Annotate(err, "the store can't be read")
	}}
	ctx, cancel := context.WithCancel(h.ctx)
	ready, told := c.Ready, c.Observer
	var over sync.WaitGroup
	c.Ready = func() {
		if ready != nil {
			ready()
		}
		manager.Status(r.line())
		manager.Ready()
		over.Go(func() { r.run(ctx) })
	}
	c.Observer = func(e machine.Event) {
		r.observe(e)
		if told != nil {
			told(e)
		}
	}
	unstop := context.AfterFunc(h.ctx, manager.Stopping)
	return r, func() {
		if unstop() { // it ends by itself
			manager.Stopping()
		}
		cancel()
		over.Wait()
		manager.Close()
	}, nil
}

// observe takes note of a hook that has ended.
func (r *reporter) observe(e machine.Event) {
	if e.Kind != machine.HookRun {
		return
	}
	r.mu.Lock()
	r.runs++
	if e.Run.Outcome == history.Failed {
		r.failed++
	}
	r.last = fmt.Sprintf("%s of %s in model %s, which %s", e.Run.Name, e.Unit, e.Model, outcome(e.Run.Outcome))
	r.mu.Unlock()
	select {
	case r.kick <- struct{}{}:
	default:
	}
}

// outcome says in words how a run has ended.
func outcome(o history.Outcome) string {
	switch o {
	case history.Committed:
		return "succeeded"
	case history.Failed:
		return "failed"
	}
	return "was " + string(o)
}

// line is what the agent does.
func (r *reporter) line() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.runs == 0 {
		return "runs the hooks of units; none has run yet"
	}
	hooks, failed := fmt.Sprintf("%d hooks", r.runs), strconv.Itoa(r.failed)
	if r.runs == 1 {
		hooks = "1 hook"
	}
	if r.failed == 0 {
		failed = "none"
	}
	return fmt.Sprintf("has run %s, %s of which failed; the last was %s", hooks, failed, r.last)
}

// listenTokenCredential is the credential of a service that has the token for whoever asks for
// metrics and health.
const listenTokenCredential = "listen-token"

// withToken is what is served with the token that a credential has, if there is one, and no
// other was asked for.
func withToken(l telemetry.Listen) telemetry.Listen {
	if path, ok := service.Credential(listenTokenCredential); ok && l.Token == "" {
		l.Token = path
	}
	return l
}

// The times of a reporter: how often it looks how the agent is, and how often at most it says
// what that has done.
const (
	lookEvery = 10 * time.Second
	sayEvery  = time.Second
)

// run tells how the agent is until ctx ends: at half of the time within which the manager
// wants to hear that. What is wrong is its status, and then the watchdog isn't reset.
// Source: docs/spec/service-manager.md §2.
func (r *reporter) run(ctx context.Context) {
	every := lookEvery
	if r.manager.Watchdog > 0 {
		every = min(every, r.manager.Watchdog/2)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	kick, wrong := r.kick, false
	var pause <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case <-pause:
			kick, pause = r.kick, nil
		case <-kick:
			if !wrong {
				r.manager.Status(r.line())
			}
			kick, pause = nil, time.After(sayEvery)
		case <-tick.C:
			err := r.well(ctx)
			if ctx.Err() != nil {
				return
			}
			if wrong = err != nil; wrong {
				r.manager.Status(err.Error())
				continue
			}
			r.manager.Status(r.line())
			if r.manager.Watchdog > 0 {
				r.manager.Well()
			}
		}
	}
}
