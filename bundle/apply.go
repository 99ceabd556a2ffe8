package bundle

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Apply makes the model what the bundle asks for. What is there already is
// brought up to date; nothing is removed.
func (b *Applier) Apply(m *state.Model, p *Plan) error {
	there := map[string]state.ApplicationDoc{}
	var err error
	if p.base, err = b.BaseOf(m); err != nil {
		return err
	}
	for _, app := range p.Apps {
		name := app.Application.Name
		doc, err := m.Application(b.Context(), name)
		if errors.Is(err, errors.NotFound) {
			if err := m.CheckDeploy(b.Context(), p.args(app), app.Packed.Charm.Charm); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return err
		}
		old, err := m.Charm(b.Context(), doc.Charm)
		if err != nil {
			return err
		}
		if old.Charm.Name != app.Packed.Name {
			return errors.NewAlreadyExists(nil, fmt.Sprintf("application %q is there with another charm, %q", name, old.Charm.Name))
		}
		if doc.Life != model.Alive {
			return deploy.StillThere(name)
		}
		if err := m.CheckCharm(b.Context(), name, app.Packed.Charm.Charm); err != nil {
			return err
		}
		there[name] = doc
	}
	if err := b.checkIsolationFor(p, there); err != nil {
		return err
	}
	ps, err := b.placesIn(m, p)
	if err != nil {
		return err
	}
	if err := b.packAll(p, there); err != nil {
		return err
	}
	for _, app := range p.Apps {
		doc, ok := there[app.Application.Name]
		var err error
		if ok {
			err = b.bringUpToDate(m, doc, app, ps)
		} else {
			err = b.deployPlanned(m, app, p.args(app), ps)
		}
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
	}
	for _, r := range p.Relations {
		if _, err := m.AddRelation(b.Context(), r[0], r[1]); err != nil && !errors.Is(err, errors.AlreadyExists) {
			return err
		}
	}
	return nil
}

// packAll packs the plan's charms, before anything is changed: what can't be built
// fails here.
func (b *Applier) packAll(p *Plan, there map[string]state.ApplicationDoc) error {
	for i, app := range p.Apps {
		isolation := p.isolationOf(app)
		doc, ok := there[app.Application.Name]
		if ok {
			isolation = doc.Isolation
		} else if err := deploy.CheckUsers(b.OneUser, isolation, app.Packed.Charm.Charm); err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		packed, err := b.Pack(app.Packed.Charm, isolation)
		if err != nil {
			return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
		}
		p.Apps[i].Packed = packed
	}
	return nil
}

func (b *Applier) deployPlanned(m *state.Model, app PlannedApp, todo state.DeployArgs, ps *places) error {
	var err error
	if todo.To, err = ps.to(todo.Application, 0); err != nil {
		return err
	}
	values, err := b.WithUpstream(app.Packed.Charm.Charm, app.given(app.Packed.Charm.Charm), nil)
	if err != nil {
		return err
	}
	if todo.Resources, err = b.StoreResources(m, app.Packed.Charm.Charm, values); err != nil {
		return err
	}
	if todo.Charm, err = app.Store(b.Context(), m); err != nil {
		return err
	}
	b.Note("Deploying %q from local charm %q, revision %s", todo.Application, app.Packed.Name, deploy.Revision(todo.Charm))
	b.NoteLacks(app.Packed.Charm, deploy.WhenDeployed(todo))
	err = b.Placed(m, deploy.OnMachines(app.Packed.Charm.Charm, todo), func() error { return m.Deploy(b.Context(), todo) })
	if err != nil || app.Exposed == nil || !*app.Exposed {
		return err
	}
	return m.SetExposed(b.Context(), todo.Application, true)
}

// args are those of Deploy but for the charm's URL.
func (p *Plan) args(app PlannedApp) state.DeployArgs {
	isolation, base := p.onBase(app)
	return app.settings.Of(state.DeployArgs{
		Application: app.Application.Name, Config: app.values, Units: app.Wanted,
		Trust: app.Trust != nil && *app.Trust, Constraints: app.Constraints, Isolation: isolation, Base: base,
	})
}

// bringUpToDate gives an application that is there the bundle's charm, options,
// trust and exposure and, where it has fewer, units. What the bundle doesn't say
// stays as somebody has set it since.
func (b *Applier) bringUpToDate(m *state.Model, doc state.ApplicationDoc, app PlannedApp, ps *places) error {
	if err := b.refreshPlanned(m, doc, app); err != nil {
		return err
	}
	if err := b.setPlanned(m, doc, app); err != nil {
		return err
	}
	missing := app.Wanted - doc.Units
	if missing <= 0 {
		return nil
	}
	to, err := ps.to(doc.Name, doc.Units)
	if err != nil {
		return err
	}
	onMachines := missing - len(to)
	if doc.Sidecar {
		onMachines = 0
	}
	return b.Placed(m, onMachines, func() error {
		_, err := m.AddUnits(b.Context(), doc.Name, missing, to...)
		return err
	})
}

// refreshPlanned gives an application the bundle's charm and resources, where they
// are others than it has.
func (b *Applier) refreshPlanned(m *state.Model, doc state.ApplicationDoc, app PlannedApp) error {
	charm := app.Packed.Charm
	old, err := m.Charm(b.Context(), doc.Charm)
	if err != nil {
		return err
	}
	values, err := b.WithUpstream(charm.Charm, app.given(charm.Charm), doc.Resources)
	if err != nil {
		return err
	}
	given, err := b.StoreResources(m, charm.Charm, values)
	if err != nil {
		return err
	}
	if old.SHA256 == app.Sum {
		if len(given) == 0 {
			return nil
		}
		return m.SetResources(b.Context(), doc.Name, given)
	}
	url, err := app.Store(b.Context(), m)
	if err != nil {
		return err
	}
	b.Note("Refreshing %q to revision %s", doc.Name, deploy.Revision(url))
	b.NoteLacks(charm, deploy.WhenRefreshed(doc, given, app.Trust))
	if err := m.SetCharmAndResources(b.Context(), doc.Name, url, false, given); err != nil {
		return err
	}
	return b.WhoWaits(m, doc.Name, false)
}

// setPlanned gives an application the options, trust and exposure that the bundle
// says.
func (b *Applier) setPlanned(m *state.Model, doc state.ApplicationDoc, app PlannedApp) error {
	if len(app.Set) > 0 {
		if err := m.SetConfig(b.Context(), doc.Name, app.Set, nil); err != nil {
			return err
		}
	}
	if app.Trust != nil && doc.Trust != *app.Trust {
		if err := m.SetTrust(b.Context(), doc.Name, *app.Trust); err != nil {
			return err
		}
	}
	if err := b.Deployer.Apply(m, doc.Name, app.settings); err != nil {
		return err
	}
	if app.Exposed != nil && doc.Exposed != *app.Exposed {
		return m.SetExposed(b.Context(), doc.Name, *app.Exposed)
	}
	return nil
}
