package bundle

import (
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (c addMachine) do(w *Work) error {
	constraints, err := model.ParseConstraints(c.Constraints)
	if err != nil {
		return err
	}
	doc, _, err := w.model.AddMachineOf(w.app.Context(), state.MachineArgs{Provider: state.LocalProvider, Constraints: constraints, Base: c.Base})
	if err != nil {
		return errors.Annotatef(err, "cannot make the bundle's machine %s", c.ID)
	}
	w.app.Note("created machine %s, the bundle's %s", doc.ID, c.ID)
	w.seen.machines[c.ID] = doc.ID
	if len(c.Annotations) == 0 {
		return nil
	}
	return w.model.AnnotateMachine(w.app.Context(), doc.ID, c.Annotations)
}

func (c deployApp) do(w *Work) error {
	return errors.Annotatef(w.deploy(c.app), "cannot deploy application %q", c.app.Application.Name)
}

func (w *Work) deploy(app PlannedApp) error {
	charm, todo := app.Packed.Charm, w.plan.args(app)
	var err error
	if todo.To, err = w.to(todo.Application, 0); err != nil {
		return err
	}
	if todo.Resources, err = w.app.ResourcesFor(w.model, app.hubCharm(), app.given(charm.Charm), app.Revisions, nil); err != nil {
		return err
	}
	if todo.Charm, err = app.Store(w.app.Context(), w.model); err != nil {
		return err
	}
	if app.Release != nil {
		w.app.Note("Deploying %q from %s", todo.Application, deploy.From(*app.Release))
	} else {
		w.app.Note("Deploying %q from local charm %q, revision %s", todo.Application, charm.Name, deploy.Revision(todo.Charm))
	}
	w.app.NoteLacks(charm, deploy.WhenDeployed(todo))
	return w.app.Placed(w.model, deploy.OnMachines(charm.Charm, todo), func() error { return w.model.Deploy(w.app.Context(), todo) })
}

// args are those of Deploy but for the charm's URL.
func (p *Plan) args(app PlannedApp) state.DeployArgs {
	isolation, base := app.settled.Isolation, app.settled.Base
	return app.settings.Of(state.DeployArgs{
		Application: app.Application.Name, Config: app.values, Units: app.Wanted, Storage: app.Application.Storage,
		Trust: app.Trust != nil && *app.Trust, Constraints: app.Constraints, Isolation: isolation, Base: base,
		Hub: deploy.HubOf(app.Release),
	})
}

// do gives an application the bundle's charm and resources.
func (c refreshApp) do(w *Work) error {
	name, ctx, charm := c.app.Application.Name, w.app.Context(), c.app.Packed.Charm
	doc := w.seen.apps[name]
	given, err := w.content(c.app, doc.resources, doc.ofHub)
	if err != nil {
		return err
	}
	url, err := c.app.Store(ctx, w.model)
	if err != nil {
		return err
	}
	w.app.Note("Refreshing %q to revision %s", name, deploy.Revision(url))
	w.app.NoteLacks(charm, deploy.WhenRefreshed(doc.ApplicationDoc, given, c.app.Trust))
	if err := w.model.Refresh(ctx, name, state.Refresh{URL: url, Resources: given, Hub: deploy.HubOf(c.app.Release)}); err != nil {
		return errors.Annotatef(err, "cannot refresh application %q", name)
	}
	return w.app.WhoWaits(w.model, name, false)
}

func (c giveResources) do(w *Work) error {
	given, err := w.content(c.app, c.names, w.seen.apps[c.app.Application.Name].ofHub)
	if err != nil {
		return err
	}
	return w.model.SetResources(w.app.Context(), c.app.Application.Name, given)
}

// content stores what an application that is there is to have for these resources; ofHub
// are those of them that a hub has.
func (w *Work) content(app PlannedApp, names []string, ofHub []charmhub.Resource) (map[string]state.Content, error) {
	charm := app.Packed.Charm.Charm
	values := map[string]string{}
	for _, name := range names {
		if slices.ContainsFunc(ofHub, func(r charmhub.Resource) bool { return r.Name == name }) {
			continue
		}
		values[name] = app.given(charm)[name]
		if values[name] == "" {
			values[name] = charm.Resources[name].Upstream
		}
	}
	given, err := w.app.StoreResources(w.model, charm, values)
	if err == nil && len(ofHub) > 0 {
		var more map[string]state.Content
		more, err = w.app.StoreHubResources(w.model, app.hubCharm(), ofHub)
		for name, content := range more {
			given = with(given, name, content)
		}
	}
	return given, errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
}

// with is a map with one more entry; the map may be nil.
func with[V any](m map[string]V, key string, v V) map[string]V {
	if m == nil {
		m = map[string]V{}
	}
	m[key] = v
	return m
}

func (c followChannel) do(w *Work) error {
	return w.model.Follow(w.app.Context(), c.application, c.channel)
}

func (c setOptions) do(w *Work) error {
	name := c.app.Application.Name
	set := map[string]string{}
	for _, option := range c.names {
		if text, ok := c.app.Set[option]; ok {
			set[option] = text
		}
	}
	if len(set) > 0 {
		if err := w.model.SetConfig(w.app.Context(), name, set, nil); err != nil {
			return err
		}
	}
	return w.app.Deployer.Apply(w.model, name, c.app.settings)
}

func (c setTrust) do(w *Work) error {
	return w.model.SetTrust(w.app.Context(), c.application, c.trust)
}

func (c setConstraints) do(w *Work) error {
	constraints, err := model.ParseConstraints(c.text)
	if err != nil {
		return err
	}
	return w.model.SetConstraintsOf(w.app.Context(), c.application, constraints)
}

func (c expose) do(w *Work) error {
	return w.model.SetExposed(w.app.Context(), c.application, c.exposed)
}

func (c exposeTo) do(w *Work) error {
	return w.model.ExposeEndpoints(w.app.Context(), c.application, c.to)
}

func (c annotate) do(w *Work) error {
	return w.model.AnnotateApplication(w.app.Context(), c.application, map[string]string{c.key: c.value})
}

func (c annotateMachine) do(w *Work) error {
	return w.model.AnnotateMachine(w.app.Context(), c.machine, map[string]string{c.key: c.value})
}

func (c addUnits) do(w *Work) error {
	to, err := w.to(c.application, c.there)
	if err != nil {
		return err
	}
	onMachines := c.n - len(to)
	if w.seen.apps[c.application].Sidecar {
		onMachines = 0
	}
	return w.app.Placed(w.model, onMachines, func() error {
		_, err := w.model.AddUnits(w.app.Context(), c.application, c.n, to...)
		return err
	})
}

func (c relate) do(w *Work) error {
	_, err := w.model.AddRelation(w.app.Context(), c.one, c.other)
	if errors.Is(err, errors.AlreadyExists) {
		return nil
	}
	return err
}
