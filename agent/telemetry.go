package agent

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/juju/errors"
	"go.opentelemetry.io/otel/sdk/metric"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/sessions"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/telemetry"
)

// otlpVariable is a collector's URL, also for agents that commands start.
const otlpVariable = "UNITD_OTLP"

// caused is the trace that a command is part of, by whoever has begun it; empty: none.
func caused() string {
	if by := os.Getenv("TRACEPARENT"); telemetry.ValidTraceparent(by) {
		return by
	}
	return ""
}

// Measured is an agent that is measured, as far as somebody has asked for it.
type Measured struct {
	listen telemetry.Listen
	meter  *telemetry.Meter
	sender *telemetry.Sender // nil: nothing is sent
	sight  *sight
	log    atomic.Pointer[slog.Logger]
	end    func()
	// sessions are those of people of other hosts; nil: there may be none.
	sessions *sessions.Server
	// address is where it listens, once it does.
	address atomic.Pointer[string]
}

// Measure has an agent be measured and traced, and what that says served and sent, as far as
// somebody has asked for it: by Listen and OTLP of the options, or by the environment. It is
// called before the store is opened, to measure that as well; Attach and End follow.
func (h *Host) Measure(of Options) (*Measured, error) {
	l, o := of.Listen, of.OTLP
	m := &Measured{listen: l, sight: &sight{}, end: func() {}}
	if o.Endpoint == "" {
		o.Endpoint = os.Getenv(otlpVariable)
	}
	if l.Address == "" && o.Endpoint == "" {
		return m, nil
	}
	if err := o.Check(); err != nil {
		return nil, Wrongf("%v", err)
	}
	if l.Address != "" {
		if err := l.Check(); err != nil {
			return nil, Wrongf("%v", err)
		}
	}
	built := Built()
	version := telemetry.Version{Version: built.Version, Commit: built.Commit}
	var send []metric.Option
	if o.Endpoint != "" {
		host, _ := os.Hostname() // it goes without
		s, err := o.Start(version, host, uuid.NewString(), m.unsent)
		if err != nil {
			return nil, errors.Trace(err)
		}
		m.sender, send, m.end = s, s.Metrics, s.End
	}
	meter, err := telemetry.NewMeter(version, m.sight.see, send...)
	if err != nil {
		m.end()
		return nil, errors.Trace(err)
	}
	m.meter, h.between = meter, meter.Store
	return m, nil
}

// unsent says in the log that a collector can't be reached.
func (m *Measured) unsent(err error) {
	if log := m.log.Load(); log != nil {
		log.Warn("cannot send all traces, metrics and logs to the collector", "err", err)
	}
}

// Attach has what an agent runs with tell what it does. joined: it has the units of one
// machine alone.
func (m *Measured) Attach(c *machine.Config, joined bool) error {
	if m.meter == nil {
		return nil
	}
	m.sight.of(c, joined)
	m.log.Store(c.Log)
	observers := []func(machine.Event){m.meter.Observe}
	if s := m.sender; s != nil {
		c.Tracer = s.Tracer
		c.Log = slog.New(slog.NewMultiHandler(c.Log.Handler(), s.Log))
		observers = append(observers, s.Observe)
	}
	if c.Observer != nil {
		observers = append(observers, c.Observer)
	}
	c.Observer = func(e machine.Event) {
		for _, o := range observers {
			o(e)
		}
	}
	if m.listen.Address == "" {
		return nil
	}
	return errors.Trace(m.serve(c))
}

// serve serves metrics and health.
func (m *Measured) serve(c *machine.Config) error {
	var ready atomic.Bool
	told := c.Ready
	c.Ready = func() {
		ready.Store(true)
		if told != nil {
			told()
		}
	}
	server := &telemetry.Server{Meter: m.meter, Ready: ready.Load, Well: m.sight.well}
	if m.sessions != nil {
		server.Sessions = m.sessions.Serve
	}
	address, end, err := m.listen.Start(server)
	if err != nil {
		return errors.Trace(err)
	}
	m.address.Store(&address)
	sent := m.end
	m.end = func() { end(); sent() }
	c.Log.Info("metrics and health are served", "address", address)
	return nil
}

// End ends what serves and sends, once the agent has ended; what is left is sent before.
func (m *Measured) End() { m.end() }

// Flush sends what is left, if anything is sent.
func (m *Measured) Flush() {
	if m.sender != nil {
		m.sender.Flush()
	}
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

// of has it look at an agent; before that there is nothing to be seen.
func (s *sight) of(c *machine.Config, joined bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dir, s.controller, s.joined = c.Dir, c.Controller, joined
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
	if s.controller == nil {
		return telemetry.Sight{Free: -1}, nil
	}
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
