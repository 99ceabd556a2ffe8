package state

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// DeployArgs says what is to be deployed.
type DeployArgs struct {
	Application string
	Charm       string         // URL, as AddCharm gave it
	Config      map[string]any // options of the charm, of their types
	Units       int            // 0 for a subordinate
	Trust       bool
	Constraints string
}

// unitsPerTxn is how many units one transaction makes or takes; each writes
// about six keys.
const unitsPerTxn = 15

// Deploy makes an application, its peer relations in the same transaction, and
// its units, each on a machine of its own. Errors: NotValid, AlreadyExists,
// NotFound for the charm.
func (m *Model) Deploy(ctx context.Context, a DeployArgs) error {
	first := min(a.Units, unitsPerTxn)
	_, err := m.update(ctx, func(tx *txn) error { return tx.deploy(a, first) })
	if err != nil {
		return errors.Trace(err)
	}
	if rest := a.Units - first; rest > 0 {
		_, err = m.AddUnits(ctx, a.Application, rest)
	}
	return errors.Trace(err)
}

// alive says whether the model still takes new things.
func (d docs) alive() error {
	info, err := readInfo(d.Reader, d.m.info)
	if err != nil {
		return errors.Trace(err)
	}
	if info.Life != model.Alive {
		return errors.NewNotValid(nil, fmt.Sprintf("model %q is being destroyed", d.m.info.Name))
	}
	return nil
}

// CheckDeploy is the error that Deploy would give with that charm, which the
// model need not have: so a charm is stored only if it is going to be used.
func (m *Model) CheckDeploy(ctx context.Context, a DeployArgs, charm model.Charm) error {
	_, err := m.view(ctx, func(r docs) error { return r.checkDeploy(a, charm) })
	return errors.Trace(err)
}

func (d docs) checkDeploy(a DeployArgs, charm model.Charm) error {
	if !model.ValidApplication(a.Application) {
		return errors.NewNotValid(nil, fmt.Sprintf("invalid application name %q", a.Application))
	}
	if err := d.alive(); err != nil {
		return errors.Trace(err)
	}
	_, err := d.application(a.Application)
	switch {
	case err == nil:
		return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add application %q: application already exists", a.Application))
	case !errors.Is(err, errors.NotFound):
		return errors.Trace(err)
	case charm.Subordinate && a.Units > 0:
		return errors.NewNotValid(nil, "cannot use --num-units with a subordinate application: its units come with the units it is related to")
	}
	return nil
}

func (t *txn) deploy(a DeployArgs, units int) error {
	charm, err := t.charm(a.Charm)
	if err != nil {
		return errors.Trace(err)
	}
	if err := t.checkDeploy(a, charm.Charm); err != nil {
		return errors.Trace(err)
	}
	app := ApplicationDoc{
		Name: a.Application, Charm: a.Charm, Subordinate: charm.Charm.Subordinate,
		Trust: a.Trust, Constraints: a.Constraints,
	}
	if err := t.put(configKey(app.Name), configDoc{Values: a.Config}); err != nil {
		return errors.Trace(err)
	}
	for _, ep := range charm.Charm.EndpointsOf(app.Name) {
		if ep.Role != model.Peer {
			continue
		}
		if _, err := t.addRelation([]model.Endpoint{ep}); err != nil {
			return errors.Trace(err)
		}
		app.Relations++
	}
	for range units {
		if _, err := t.addUnit(&app, ""); err != nil {
			return errors.Trace(err)
		}
	}
	return t.put(applicationKey(app.Name), app)
}

// AddUnits adds units to an Alive principal application and returns their
// names.
func (m *Model) AddUnits(ctx context.Context, application string, n int) ([]model.UnitName, error) {
	var names []model.UnitName
	for n > 0 {
		var added []model.UnitName
		_, err := m.update(ctx, func(tx *txn) error {
			added = nil
			app, err := tx.application(application)
			switch {
			case err != nil:
				return errors.Trace(err)
			case app.Life != model.Alive:
				return errors.NewNotValid(nil, fmt.Sprintf("cannot add unit to application %q: application is not alive", application))
			case app.Subordinate:
				return errors.NewNotValid(nil, fmt.Sprintf("cannot add unit to application %q: it is a subordinate; integrate it with another application instead", application))
			}
			for range min(n, unitsPerTxn) {
				u, err := tx.addUnit(&app, "")
				if err != nil {
					return errors.Trace(err)
				}
				added = append(added, u.Name)
			}
			return tx.put(applicationKey(app.Name), app)
		})
		if err != nil {
			return names, errors.Trace(err)
		}
		names = append(names, added...)
		n -= len(added)
	}
	return names, nil
}

// addUnit makes a unit and counts it in app, which the caller has to put.
func (t *txn) addUnit(app *ApplicationDoc, principal model.UnitName) (UnitDoc, error) {
	u := UnitDoc{Name: model.NewUnitName(app.Name, app.NextUnit), Principal: principal}
	app.NextUnit++
	app.Units++
	message := "waiting for machine"
	if principal == "" {
		n, err := t.next("machine")
		if err != nil {
			return u, errors.Trace(err)
		}
		u.Machine = fmt.Sprint(n)
		m := MachineDoc{ID: u.Machine, Units: []model.UnitName{u.Name}, ForUnit: true}
		if err := t.put(machineKey(m.ID), m); err != nil {
			return u, errors.Trace(err)
		}
	} else {
		p, err := t.unit(principal)
		if err != nil {
			return u, errors.Trace(err)
		}
		u.Machine, message = p.Machine, "installing agent"
		p.Subordinates = append(p.Subordinates, u.Name)
		if err := t.put(unitKey(p.Name), p); err != nil {
			return u, errors.Trace(err)
		}
	}
	if err := t.setStatus(AgentStatus, string(u.Name), model.Status{Status: model.StatusAllocating}); err != nil {
		return u, errors.Trace(err)
	}
	if err := t.setStatus(WorkloadStatus, string(u.Name), model.Status{Status: model.StatusWaiting, Message: message}); err != nil {
		return u, errors.Trace(err)
	}
	return u, t.put(unitKey(u.Name), u)
}

// Removal lists what a destruction will take away, for people.
type Removal struct {
	Units     []model.UnitName
	Relations []string
}

// DestroyApplication removes an application with its units and relations
// (seed 000, "remove-application"). One that isn't Alive is left as it is. If
// nothing refers to it, it is gone at once; else it is Dying until its last
// unit or relation goes.
func (m *Model) DestroyApplication(ctx context.Context, name string) (Removal, error) {
	var gone Removal
	_, err := m.update(ctx, func(tx *txn) error {
		gone = Removal{}
		app, err := tx.application(name)
		if err != nil || app.Life != model.Alive {
			return errors.Trace(err)
		}
		units, err := tx.unitsOf(name)
		if err != nil {
			return errors.Trace(err)
		}
		for _, u := range units {
			gone.Units = append(gone.Units, u.Name)
		}
		app.Life = model.Dying
		return errors.Trace(tx.putOrRemove(app))
	})
	if err != nil {
		return gone, errors.Trace(err)
	}
	// Each relation in a transaction of its own: there may be many. Being
	// Dying, the application makes no new ones meanwhile.
	rels, err := m.RelationsOf(ctx, name)
	if err != nil {
		return gone, errors.Trace(err)
	}
	for _, r := range rels {
		gone.Relations = append(gone.Relations, r.Key)
		if _, err := m.update(ctx, func(tx *txn) error { return tx.destroyRelation(r.ID) }); err != nil {
			return gone, errors.Annotatef(err, "cannot remove relation %q", r.Key)
		}
	}
	// Units that no agent has taken on have nobody to take them away.
	for _, u := range gone.Units {
		if _, err := m.update(ctx, func(tx *txn) error { return tx.removeUndeployed(u) }); err != nil {
			return gone, errors.Annotatef(err, "cannot remove unit %s", u)
		}
	}
	return gone, nil
}

// putOrRemove writes the application, or removes it if it is Dying and
// nothing refers to it any more.
func (t *txn) putOrRemove(app ApplicationDoc) error {
	if app.Life == model.Alive || app.Units > 0 || app.Relations > 0 {
		return t.put(applicationKey(app.Name), app)
	}
	err := t.delete(applicationKey(app.Name), configKey(app.Name), leaderKey(app.Name), lastLeaderKey(app.Name),
		leaderSettingsKey(app.Name), statusKey(ApplicationStatus, app.Name))
	if err != nil {
		return errors.Trace(err)
	}
	return t.cleanupHistory(ApplicationStatus, app.Name)
}

// referenced changes an application's counts and removes it with its last
// reference. An application that is gone already is no error.
func (t *txn) referenced(name string, units, relations int) error {
	app, err := t.application(name)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	app.Units += units
	app.Relations += relations
	return t.putOrRemove(app)
}

// SetExposed says whether the application's ports are for the world.
func (m *Model) SetExposed(ctx context.Context, name string, exposed bool) error {
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.Exposed = exposed
		return nil
	})
}

// SetTrust says whether the application may ask for the cloud's credentials.
func (m *Model) SetTrust(ctx context.Context, name string, trust bool) error {
	return m.changeApplication(ctx, name, func(_ *txn, app *ApplicationDoc) error {
		app.Trust = trust
		return nil
	})
}

func (m *Model) changeApplication(ctx context.Context, name string, change func(*txn, *ApplicationDoc) error) error {
	_, err := m.update(ctx, func(tx *txn) error {
		app, err := tx.application(name)
		if err != nil {
			return errors.Trace(err)
		}
		if app.Life != model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("application %q is not alive", name))
		}
		if err := change(tx, &app); err != nil {
			return errors.Trace(err)
		}
		return tx.put(applicationKey(name), app)
	})
	return errors.Trace(err)
}

// SetCharm says that the application's units should have another charm; with
// force even those in error. A charm that lacks an endpoint in use is refused,
// as is one of the other kind (principal or subordinate). Options that the new
// charm doesn't have, or has with another type, lose their value; new peer
// relations are made.
func (m *Model) SetCharm(ctx context.Context, name, url string, force bool) error {
	return m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) error {
		charm, err := tx.charm(url)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.checkCharm(*app, charm.Charm); err != nil {
			return errors.Trace(err)
		}
		if err := tx.newPeers(app, charm); err != nil {
			return errors.Trace(err)
		}
		var conf configDoc
		if _, err := tx.find(configKey(name), &conf); err != nil {
			return errors.Trace(err)
		}
		for k, v := range conf.Values {
			o, ok := charm.Charm.Options[k]
			if _, err := o.Coerce(k, v); !ok || err != nil {
				delete(conf.Values, k)
			}
		}
		app.Charm, app.Forced = url, force
		return tx.put(configKey(name), conf)
	})
}

// CheckCharm is the error that SetCharm would give for that charm, which the
// model need not have: so a charm is stored only if it is going to be used.
func (m *Model) CheckCharm(ctx context.Context, application string, charm model.Charm) error {
	_, err := m.view(ctx, func(r docs) error {
		app, err := r.application(application)
		if err != nil {
			return errors.Trace(err)
		}
		if app.Life != model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("application %q is not alive", application))
		}
		return r.checkCharm(app, charm)
	})
	return errors.Trace(err)
}

// checkCharm refuses a charm of the other kind, and one that lacks an endpoint
// with a relation.
func (d docs) checkCharm(app ApplicationDoc, charm model.Charm) error {
	if charm.Subordinate != app.Subordinate {
		return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: cannot change an application's subordinacy", app.Name, charm.Name))
	}
	rels, err := d.relationsOf(app.Name)
	if err != nil {
		return errors.Trace(err)
	}
	have := charm.EndpointsOf(app.Name)
	for _, r := range rels {
		own, _, _ := r.Endpoint(app.Name)
		if !slices.ContainsFunc(have, func(e model.Endpoint) bool {
			return e.Name == own.Name && e.Role == own.Role && e.Interface == own.Interface
		}) {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot upgrade application %q to charm %q: would break relation %q", app.Name, charm.Name, r.Key))
		}
	}
	return nil
}

// newPeers makes the peer relations that only the new charm has.
func (t *txn) newPeers(app *ApplicationDoc, charm CharmDoc) error {
	for _, ep := range charm.Charm.EndpointsOf(app.Name) {
		if ep.Role != model.Peer {
			continue
		}
		id := 0
		found, err := t.find(relationNameKey(model.RelationKey([]model.Endpoint{ep})), &id)
		if err != nil {
			return errors.Trace(err)
		}
		if found {
			continue
		}
		if _, err := t.addRelation([]model.Endpoint{ep}); err != nil {
			return errors.Trace(err)
		}
		app.Relations++
	}
	return nil
}

// ApplicationConfig is an application's configuration.
type ApplicationConfig struct {
	Application string
	Charm       CharmDoc
	Trust       bool
	// Set has the options that were set, Values all of them with defaults (nil
	// where there is none).
	Set, Values map[string]any
}

// Config reads an application's configuration.
func (m *Model) Config(ctx context.Context, application string) (ApplicationConfig, error) {
	var c ApplicationConfig
	_, err := m.view(ctx, func(r docs) (err error) {
		c, err = r.config(application)
		return errors.Trace(err)
	})
	return c, errors.Trace(err)
}

func (d docs) config(application string) (ApplicationConfig, error) {
	app, err := d.application(application)
	if err != nil {
		return ApplicationConfig{}, errors.Trace(err)
	}
	c := ApplicationConfig{Application: application, Trust: app.Trust}
	if c.Charm, err = d.charm(app.Charm); err != nil {
		return c, errors.Trace(err)
	}
	var conf configDoc
	if _, err := d.find(configKey(application), &conf); err != nil {
		return c, errors.Trace(err)
	}
	c.Set, c.Values = conf.Values, c.Charm.Charm.Config(conf.Values)
	return c, nil
}

// SetConfig sets options, given as text, and resets others to their defaults,
// all or none. Errors are NotValid with the texts of spec/cli-juju.md §6.
func (m *Model) SetConfig(ctx context.Context, application string, set map[string]string, reset []string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		c, err := tx.config(application)
		if err != nil {
			return errors.Trace(err)
		}
		values, err := c.Charm.Charm.ParseConfig(set)
		if err != nil {
			return errors.NewNotValid(nil, "parsing settings for application: "+err.Error())
		}
		out := maps.Clone(c.Set)
		if out == nil {
			out = map[string]any{}
		}
		for _, k := range reset {
			if _, ok := c.Charm.Charm.Options[k]; !ok {
				return errors.NewNotValid(nil, fmt.Sprintf("updating application charm settings: unknown option %q", k))
			}
			delete(out, k)
		}
		maps.Copy(out, values)
		return tx.put(configKey(application), configDoc{Values: out})
	})
	return errors.Trace(err)
}

// Applications are all applications by name.
func (m *Model) Applications(ctx context.Context) ([]ApplicationDoc, error) {
	var apps []ApplicationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		apps, err = list[ApplicationDoc](r, "app/")
		return errors.Trace(err)
	})
	return apps, errors.Trace(err)
}

// Application reads an application; errors.NotFound if there is none.
func (m *Model) Application(ctx context.Context, name string) (ApplicationDoc, error) {
	var app ApplicationDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		app, err = r.application(name)
		return errors.Trace(err)
	})
	return app, errors.Trace(err)
}
