package agent

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/telemetry"
)

// measure has an agent be measured, and what was measured served, if somebody has asked for
// that by Options.Listen. It is called before the store is opened; attach is to be called
// with what the agent runs with, and end when it has ended.
func (h *Host) measure(l telemetry.Listen) (attach func(c *machine.Config, joined bool) error, end func(), err error) {
	if l.Address == "" {
		return func(*machine.Config, bool) error { return nil }, func() {}, nil
	}
	if err := l.Check(); err != nil {
		return nil, nil, Wrongf("%v", err)
	}
	s, built := &sight{}, Built()
	meter, err := telemetry.NewMeter(telemetry.Version{Version: built.Version, Commit: built.Commit}, s.see)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	h.between = meter.Store
	stop := func() {}
	attach = func(c *machine.Config, joined bool) error {
		s.dir, s.controller, s.joined = c.Dir, c.Controller, joined
		var ready atomic.Bool
		told := c.Ready
		c.Ready = func() {
			ready.Store(true)
			if told != nil {
				told()
			}
		}
		observed := c.Observer
		c.Observer = func(e machine.Event) {
			meter.Observe(e)
			if observed != nil {
				observed(e)
			}
		}
		address, end, err := l.Start(&telemetry.Server{Meter: meter, Ready: ready.Load, Well: s.well})
		if err != nil {
			return errors.Trace(err)
		}
		stop = end
		c.Log.Info("metrics and health are served", "address", address)
		return nil
	}
	return attach, func() { stop() }, nil
}

// sight looks at how things are, for telemetry.
type sight struct {
	dir        string
	controller *state.Controller
	joined     bool

	mu   sync.Mutex
	last telemetry.Sight
	at   time.Time
}

// fresh is how long what was seen is told again, however often somebody asks.
const fresh = 5 * time.Second

// well says what is wrong with the agent.
func (s *sight) well(ctx context.Context) error {
	word, err := machine.Ask(ctx, s.dir)
	switch {
	case err != nil:
		return errors.Trace(err)
	case word.Trouble != "":
		return errors.Errorf("the store can't be written to: %s", word.Trouble)
	}
	return nil
}

// see is what a telemetry.Meter asks for. Of whole models it is told by the agent that has
// them, so that not each of many agents reads them all.
func (s *sight) see(ctx context.Context) (telemetry.Sight, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < fresh {
		return s.last, nil
	}
	now := telemetry.Sight{Free: free(s.dir), Units: map[telemetry.Counted]int64{}, Containers: map[telemetry.Counted]int64{}, Machines: map[telemetry.Counted]int64{}, Executing: map[string]int64{}}
	word, err := machine.Ask(ctx, s.dir)
	now.Trouble = err == nil && word.Trouble != ""
	if !s.joined {
		if err := s.models(ctx, word, &now); err != nil {
			return now, errors.Trace(err)
		}
	}
	s.last, s.at = now, time.Now()
	return now, nil
}

// models counts what there is in all models.
func (s *sight) models(ctx context.Context, word machine.Word, now *telemetry.Sight) error {
	infos, err := s.controller.Models(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	for _, info := range infos {
		m, err := s.controller.Among(infos, info.Name)
		if err != nil {
			return errors.Trace(err)
		}
		full, err := m.Status(ctx)
		if errors.Is(err, errors.NotFound) {
			continue // it has been destroyed
		}
		if err != nil {
			return errors.Trace(err)
		}
		word.See(full)
		count(full, now)
	}
	return nil
}

func count(full *state.FullStatus, now *telemetry.Sight) {
	name := full.Model.Name
	now.Executing[name] += 0
	for _, app := range full.Applications {
		for _, u := range app.Units {
			now.Units[telemetry.Counted{Model: name, Application: app.Name, State: u.Workload.Status}]++
			if u.Agent.Status == model.StatusExecuting {
				now.Executing[name]++
			}
			for _, c := range u.Containers.Containers {
				now.Containers[telemetry.Counted{Model: name, Application: app.Name, State: string(c.State)}]++
			}
		}
	}
	for _, m := range full.Machines {
		there := "absent"
		if m.Present {
			there = "present"
		}
		now.Machines[telemetry.Counted{Model: name, State: there}]++
	}
}

// free is how many bytes are free on the disk of a directory; -1: it isn't known.
func free(dir string) int64 {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return -1
	}
	return int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // of other types elsewhere
}
