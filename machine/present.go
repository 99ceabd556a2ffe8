package machine

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// present is the host as it was when it was last looked at. The agent looks at
// its start and each time it keeps its lease alive; it is safe for use by many
// goroutines.
type present struct {
	look func() Host // Config.Look; nil: it stays as it is
	host atomic.Pointer[Host]
}

func newPresent(c Config) *present {
	p := &present{look: c.Look}
	host := c.Host
	if c.Look != nil {
		host = c.Look()
	}
	p.host.Store(&host)
	return p
}

// now is the host as it is known.
func (p *present) now() Host { return *p.host.Load() }

// again looks at the host and says whether it has changed. The boot never does,
// while the agent lives.
func (p *present) again() bool {
	if p.look == nil {
		return false
	}
	host, was := p.look(), p.now()
	host.Boot = was.Boot
	if reflect.DeepEqual(host, was) {
		return false
	}
	p.host.Store(&host)
	return true
}

// lookAround looks at the host, and has all models told where it has changed.
func (a *agent) lookAround() {
	if !a.present.again() {
		return
	}
	a.Log.Info("the host has changed", "addresses", a.present.now().Addresses)
	for _, h := range a.models {
		select {
		case h.moved <- struct{}{}:
		default: // it has not taken notice of the last change yet
		}
	}
}

// tellHost tells the model of the machines that this host is.
func (a *modelAgent) tellHost(ctx context.Context) error {
	for _, id := range a.machines() {
		if err := a.tellMachine(ctx, id); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// tellMachine tells the model what the host is like that is the machine.
func (a *modelAgent) tellMachine(ctx context.Context, id string) error {
	told, err := a.machineDoc(ctx, id)
	if err == nil {
		err = a.model.SetMachine(ctx, told)
	}
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	return errors.Trace(err)
}

// machineDoc is what the model is told of the host that is the machine. The error is
// NotFound for a machine that is gone.
func (a *modelAgent) machineDoc(ctx context.Context, id string) (state.MachineDoc, error) {
	host, known := a.hostOf(id)
	told := host.machine(id)
	if a.Machine == nil {
		told.Instance = localInstance(id)
	}
	if known {
		return told, nil
	}
	// Where units have a network of their own, they say where they are once they are
	// there.
	own, before, err := a.model.OwnNetwork(ctx, id)
	if own {
		told.Addresses = before
	}
	return told, errors.Trace(err)
}

// appear tells the model of machines that this host is, and that their agent is
// there.
func (a *modelAgent) appear(ctx context.Context, ids ...string) error {
	var told []state.MachineDoc
	for _, id := range ids {
		one, err := a.machineDoc(ctx, id)
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err != nil {
			return errors.Trace(err)
		}
		told = append(told, one)
	}
	return errors.Trace(a.leased(ctx, func(l store.LeaseID) error { return a.model.Appear(ctx, l, told...) }))
}

// machines are the ids of the machines that this host is.
func (a *modelAgent) machines() []string {
	all := map[string]bool{}
	for id := range a.standing {
		all[id] = true
	}
	for _, u := range a.units {
		all[u.machine] = true
	}
	return slices.Sorted(maps.Keys(all))
}
