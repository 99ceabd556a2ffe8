package bench

import (
	"context"
	"encoding/json"
	"io"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// order is what the agent is asked for: what processor time it has used, or, with
// a model, to commit another configuration.
type order struct {
	Model, Application, Value string
}

// said is what the agent tells: one of these.
type said struct {
	// Ready: hooks can run.
	Ready bool `json:",omitempty"`
	// Used is an answer: the processor time of the process so far, without that of
	// its children, which is never 0.
	Used time.Duration `json:",omitempty"`
	// Changing is an answer: when the commit of the configuration began.
	Changing time.Time `json:",omitzero"`
	// Run is a hook that has run.
	Run *run `json:",omitempty"`
}

// run is as much of a hook's run as is measured.
type run struct {
	Unit    model.UnitName
	Kind    hooks.Kind
	Missing bool   `json:",omitempty"`
	Failed  string `json:",omitempty"` // what became of it; empty: it has committed
	Ended   time.Time
}

// Serve is an agent that is measured: c says what it runs with, and agent runs it.
// It does what in asks for, and ends with in, so it doesn't outlive who measures;
// it tells by out.
func Serve(ctx context.Context, c machine.Config, in io.Reader, out io.Writer, agent func(context.Context, machine.Config) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &served{config: c, out: json.NewEncoder(out)}
	c.Ready = func() { s.say(said{Ready: true}) }
	c.Observer = func(e machine.Event) {
		if e.Kind == machine.HookRun {
			s.say(said{Run: runOf(e.Run)})
		}
	}
	// It ends with in, or with the process, of which this is all.
	go func() {
		defer cancel()
		s.obey(ctx, json.NewDecoder(in))
	}()
	if err := agent(ctx, c); !errors.Is(err, context.Canceled) {
		return errors.Trace(err)
	}
	return nil
}

func runOf(e history.Entry) *run {
	r := &run{Unit: e.Unit, Kind: e.Hook.Kind, Missing: e.Missing, Ended: time.Now()}
	if e.Outcome != history.Committed {
		r.Failed = string(e.Outcome) + ": " + e.Message
	}
	return r
}

// served is an agent that is measured.
type served struct {
	config machine.Config
	mu     sync.Mutex
	out    *json.Encoder
}

// say tells something. If nobody listens any more, the agent is about to end.
func (s *served) say(what said) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_ = s.out.Encode(what)
}

// obey does what is asked for, until there is nothing more to come, or something
// can't be done.
func (s *served) obey(ctx context.Context, in *json.Decoder) {
	for {
		var o order
		if err := in.Decode(&o); err != nil {
			return
		}
		if o.Model == "" {
			used, err := usedHere()
			if err != nil {
				s.config.Log.Error("cannot tell how much processor time was used", "err", err)
				return
			}
			s.say(said{Used: used})
			continue
		}
		m, err := s.config.Controller.Model(ctx, o.Model)
		began := time.Now()
		if err == nil {
			err = m.SetConfig(ctx, o.Application, map[string]string{option: o.Value}, nil)
		}
		if err != nil {
			s.config.Log.Error("cannot change the configuration", "err", err)
			return
		}
		s.say(said{Changing: began})
	}
}

// usedHere is the processor time that this process has used, without that of its
// children.
func usedHere() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, errors.Annotate(err, "cannot get the processor time")
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}
