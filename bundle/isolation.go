package bundle

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// IsolateNew has a plan's applications isolated where that is allowed, if some
// of them are to be added. In a store for many hosts they are not, nor in one that
// another user's agent serves: who runs the units may allow something else.
func (b *Applier) IsolateNew(m *state.Model, p *Plan) error {
	name, err := b.StoreName()
	if err != nil || !agent.OfHost(name) {
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
	p.Best = p.Isolation.On()
	return errors.Trace(b.Context().Err())
}

// settleIsolation chooses how the units of applications that are added are isolated, and
// what they are on. In one line it says which of them lack the systemd that they could have.
func (b *Applier) settleIsolation(p *Plan, there map[string]standing) error {
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	roots, err := b.Roots(cmp.Or(p.Dir, dir))
	if err != nil {
		return err
	}
	unsaid := p.base
	if p.Base != (model.Base{}) {
		unsaid = p.Base
	}
	var lack lacking
	for n, app := range p.Apps {
		charm := app.Packed.Charm.Charm
		if _, ok := there[app.Application.Name]; ok {
			continue
		}
		s, err := roots.Settle(p.Asked.ForContainers(p.Isolation, charm), charm, app.Application.Base, unsaid, p.Best)
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		p.Apps[n].settled = s
		lack.add(app.Application.Name, s)
	}
	if line := lack.line(); line != "" {
		b.Note("%s", line)
	}
	return errors.Trace(b.checkIsolationFor(p, there, dir))
}

// lacking are the applications that lack systemd.
type lacking struct {
	apps, fetch []string
	why         string
}

func (l *lacking) add(app string, s deploy.Settled) {
	if s.Lacks == "" {
		return
	}
	l.apps, l.why = append(l.apps, app), s.Lacks
	if s.Fetch != "" && !slices.Contains(l.fetch, s.Fetch) {
		l.fetch = append(l.fetch, s.Fetch)
	}
}

// line says so, with the command that gets it, if there is one; empty: there are none.
func (l *lacking) line() string {
	if len(l.apps) == 0 {
		return ""
	}
	of := strings.Join(l.apps, ", ")
	if len(l.fetch) == 0 {
		return fmt.Sprintf("the units of %s have no systemd: %s", of, l.why)
	}
	return fmt.Sprintf("the units of %s have no systemd: unitd base fetch %s", of, strings.Join(l.fetch, "; unitd base fetch "))
}

// checkIsolationFor says whether those applications that are added can be isolated for
// which that wasn't tried: for their containers' sake, or on bases of their own. One trial
// is for all of a kind.
func (b *Applier) checkIsolationFor(p *Plan, there map[string]standing, dir string) error {
	if away, err := b.Away(p.Asked); err != nil || away {
		return err
	}
	tried := []model.Isolation{p.Isolation}
	for _, app := range p.Apps {
		i := app.settled.Isolation
		same := func(t model.Isolation) bool { return t.Mode == i.Mode && t.Root == i.Root }
		if _, ok := there[app.Application.Name]; ok || !i.On() || p.Best || slices.ContainsFunc(tried, same) {
			continue
		}
		if err := b.CheckIsolationIn(cmp.Or(p.Dir, dir), cmp.Or(p.Dir, dir), i, deploy.Without(len(app.Packed.Charm.Containers) > 0)); err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		tried = append(tried, i)
	}
	return nil
}
