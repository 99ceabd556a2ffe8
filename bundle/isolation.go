package bundle

import (
	"cmp"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// IsolateNew has a plan's applications isolated where that is allowed, if some
// of them are to be added. In a store for many hosts they are not: other hosts may
// allow something else, and don't reach the units' network.
func (b *Applier) IsolateNew(m *state.Model, p *Plan) error {
	name, err := b.StoreName()
	if err != nil || strings.HasPrefix(name, etcd.Scheme) {
		return err
	}
	adds := false
	for _, app := range p.Apps {
		_, err := m.Application(b.Context(), app.Application.Name)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
		adds = adds || err != nil
	}
	dir, err := agent.DataDir()
	if err != nil || !adds {
		return err
	}
	return b.Isolate(p, dir)
}

// Isolate has a plan's applications isolated, as far as that is allowed, with
// what they change in a directory.
func (b *Applier) Isolate(p *Plan, dir string) error {
	var note string
	if p.Isolation, note = b.MostAllowed(dir, dir); note != "" && b.Context().Err() == nil {
		b.Note("%s", note)
	}
	return errors.Trace(b.Context().Err())
}

// isolationOf is how the units of an application that is added are isolated: as the
// others, but where these aren't and the charm has containers.
func (p *Plan) isolationOf(app PlannedApp) model.Isolation {
	i, _ := p.onBase(app)
	return i
}

// onBase is isolationOf with the base of the units.
func (p *Plan) onBase(app PlannedApp) (model.Isolation, string) {
	charm := app.Packed.Charm.Charm
	unsaid := p.base
	if p.Base != (model.Base{}) {
		unsaid = p.Base
	}
	return deploy.OnBase(p.Asked.ForContainers(p.Isolation, charm), charm, app.Application.Base, unsaid)
}

// checkIsolationFor says whether those applications that are added can be isolated that
// are so for their containers' sake. One trial is for all.
func (b *Applier) checkIsolationFor(p *Plan, there map[string]standing) error {
	if p.Isolation.On() {
		return nil // that was tried
	}
	for _, app := range p.Apps {
		i := p.isolationOf(app)
		if _, ok := there[app.Application.Name]; ok || !i.On() {
			continue
		}
		dir, err := agent.DataDir()
		if err != nil {
			return err
		}
		err = b.CheckIsolationIn(cmp.Or(p.Dir, dir), cmp.Or(p.Dir, dir), i, true)
		return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
	}
	return nil
}
