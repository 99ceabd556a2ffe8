package state

import (
	"context"
	"fmt"

	"github.com/google/uuid"
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
	// Resources are files, see StoreFile, and images for the charm's resources, by
	// name.
	Resources map[string]Content
	// HookTimeout, LockGroup, WorkloadErrors and RecordPebble are those of ApplicationDoc.
	HookTimeout, LockGroup, WorkloadErrors, RecordPebble string
	// Storage is what units get besides what the charm asks for, by its names.
	Storage map[string]model.StorageDirective
	// Bindings are spaces for the charm's endpoints.
	Bindings model.Bindings
	// Attach is detached storage that the one unit gets in the place of new one.
	Attach []model.StorageID
	// To says where the first units go, one after the other: the id of a machine,
	// or NewMachine. The others go where there is room, see txn.place.
	To []string
	// Isolation, Base and Hub are those of ApplicationDoc.
	Isolation model.Isolation
	Base      string
	Hub       *Hub
}

const (
	// unitWrites is how many keys making a unit writes: its document and its
	// machine's, two statuses, each with a line of history, and, where there are
	// free machines, the mark of the one that it takes, or its pod; peerWrites those of
	// a peer relation. addWrites is for what comes on top once: the application,
	// its configuration, and the sequences of machines, relations and storage.
	unitWrites = 6
	peerWrites = 3
	addWrites  = 5
)

// unitsPerTxn is how many units with storage of the charm one transaction makes
// if it writes other keys as well; at least one.
func (p *placing) unitsPerTxn(others int, app ApplicationDoc, charm model.Charm) int {
	each := unitWrites + storageWrites*storageOfUnit(app, charm)
	if len(p.free) > 0 || len(p.to) > 0 || app.Sidecar {
		each++
	}
	return (maxWrites - addWrites - others) / each
}

// Deploy makes an application, its peer relations in the same transaction, and
// its units, each on a machine of its own. Errors: NotValid, AlreadyExists,
// NotFound for the charm.
func (m *Model) Deploy(ctx context.Context, a DeployArgs) error {
	first := 0
	_, err := m.update(ctx, func(tx *txn) (err error) {
		first, err = tx.deploy(a)
		return errors.Trace(err)
	})
	if err != nil {
		return errors.Trace(err)
	}
	if rest := a.Units - first; rest > 0 {
		app, err := m.Application(ctx, a.Application)
		switch {
		case err != nil:
			return errors.Trace(err)
		case app.Sidecar:
			return unfinished(m.rescale(ctx, a.Application, Orderly))
		}
		if _, err := m.AddUnits(ctx, a.Application, rest, a.To[min(first, len(a.To)):]...); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
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
	if err := a.checkRunning(); err != nil {
		return errors.Trace(err)
	}
	if err := d.alive(); err != nil {
		return errors.Trace(err)
	}
	if err := d.checkKind(charm); err != nil {
		return errors.Trace(err)
	}
	_, err := d.application(a.Application)
	switch {
	case err == nil:
		return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add application %q: application already exists", a.Application))
	case !errors.Is(err, errors.NotFound):
		return errors.Trace(err)
	}
	if _, err := d.saas(a.Application); err == nil {
		return errors.NewAlreadyExists(nil, fmt.Sprintf("cannot add application %q: saas application already exists", a.Application))
	} else if !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	switch {
	case charm.Sidecar() && len(a.To) > 0:
		return errors.NewNotValid(nil, "--to cannot be used on k8s models: "+fmt.Sprintf("charm %q is for containers, whose units have no machines", charm.Name))
	case charm.Subordinate && a.Units > 0:
		return errors.NewNotValid(nil, "cannot use --num-units with a subordinate application: its units come with the units it is related to")
	}
	if err := d.checkPlacement(a.To, a.Units); err != nil {
		return errors.Trace(err)
	}
	if err := d.checkStorageOf(a.Storage, charm); err != nil {
		return errors.Trace(err)
	}
	if _, err := d.bound(nil, a.Bindings, charm); err != nil {
		return errors.Trace(err)
	}
	if len(a.Attach) > 0 && (charm.Sidecar() || charm.Subordinate || a.Units != 1) {
		return errors.NewNotValid(nil, "--attach-storage is for an application that begins with one unit, on a machine")
	}
	for _, id := range a.Attach {
		if _, err := d.detached(id, charm); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(charm.CheckMounts(a.Application, a.Storage))
}

// checkKind refuses a charm for machines where there are none.
func (d docs) checkKind(charm model.Charm) error {
	info, err := readInfo(d.Reader, d.m.info)
	if err != nil || info.Type != CAAS || charm.Sidecar() {
		return errors.Trace(err)
	}
	return errors.NewNotValid(nil, fmt.Sprintf("charm %q is for machines, which model %q doesn't have: "+
		"it has no containers, and doesn't assume k8s-api", charm.Name, info.Name))
}

// deploy makes as many of the units as fit beside the rest, and says how many.
func (t *txn) deploy(a DeployArgs) (units int, err error) {
	charm, err := t.charm(a.Charm)
	if err != nil {
		return 0, errors.Trace(err)
	}
	if err := t.checkDeploy(a, charm.Charm); err != nil {
		return 0, errors.Trace(err)
	}
	if err := t.take(a.Charm); err != nil {
		return 0, errors.Trace(err)
	}
	app := ApplicationDoc{
		Name: a.Application, Charm: a.Charm, Subordinate: charm.Charm.Subordinate,
		Trust: a.Trust, Constraints: a.Constraints, HookTimeout: a.HookTimeout, LockGroup: a.LockGroup, WorkloadErrors: a.WorkloadErrors, RecordPebble: a.RecordPebble, Storage: a.Storage,
		Isolation: a.Isolation, Base: a.Base, Hub: a.Hub, Sidecar: charm.Charm.Sidecar() && !charm.Charm.Subordinate,
	}
	if app.Bindings, err = t.bound(nil, a.Bindings, charm.Charm); err != nil {
		return 0, errors.Trace(err)
	}
	wanted := a.Units
	if app.Sidecar {
		id, err := uuid.NewRandom()
		if err != nil {
			return 0, errors.Annotate(err, "cannot make an application's id")
		}
		app.ID, app.Scale = id.String(), a.Units
		if charm.Charm.CheckContainers() != nil {
			wanted = 0
		}
	}
	if err := t.put(configKey(app.Name), configDoc{Values: a.Config, By: t.by}); err != nil {
		return 0, errors.Trace(err)
	}
	if err := t.give(&app, charm.Charm, a.Resources); err != nil {
		return 0, errors.Trace(err)
	}
	if err := t.newPeers(&app, charm); err != nil {
		return 0, errors.Trace(err)
	}
	p, err := t.placing(a.To)
	if err != nil {
		return 0, errors.Trace(err)
	}
	p.attach = a.Attach
	units = min(wanted, max(p.unitsPerTxn(app.Relations*peerWrites+len(a.Resources), app, charm.Charm), 0))
	if app.Sidecar && units < wanted {
		// Who is cut off after this leaves the rest to the agent.
		if err := t.queue(cleanupDoc{ScaleOf: app.Name}); err != nil {
			return 0, errors.Trace(err)
		}
	}
	for range units {
		if _, err := t.addUnit(&app, "", p); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return units, t.put(applicationKey(app.Name), app)
}

// AddUnits adds units to an Alive principal application and returns their
// names. to is DeployArgs.To.
func (m *Model) AddUnits(ctx context.Context, application string, n int, to ...string) ([]model.UnitName, error) {
	app, err := m.Application(ctx, application)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if app.Sidecar {
		return m.addContainerUnits(ctx, app, n, to)
	}
	return m.addUnits(ctx, application, n, to, nil)
}

// AddUnitWith is AddUnits for one unit, which gets detached storage in the place of new
// one. The error is NotValid as well where the storage can't be the unit's.
func (m *Model) AddUnitWith(ctx context.Context, application string, attach []model.StorageID, to ...string) (model.UnitName, error) {
	names, err := m.addUnits(ctx, application, 1, to, attach)
	if err != nil {
		return "", errors.Trace(err)
	}
	return names[0], nil
}

func (m *Model) addUnits(ctx context.Context, application string, n int, to []string, attach []model.StorageID) ([]model.UnitName, error) {
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
			if err := tx.checkPlacement(to, n); err != nil {
				return errors.Trace(err)
			}
			charm, err := tx.charm(app.Charm)
			if err != nil {
				return errors.Trace(err)
			}
			p, err := tx.placing(to)
			if err != nil {
				return errors.Trace(err)
			}
			p.attach = attach
			for range min(n, p.unitsPerTxn(0, app, charm.Charm)) {
				u, err := tx.addUnit(&app, "", p)
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
		to = to[min(len(added), len(to)):]
	}
	return names, nil
}

// addUnit makes a unit and counts it in app, which the caller has to put. p is
// nil for a subordinate, whose machine is its principal's.
func (t *txn) addUnit(app *ApplicationDoc, principal model.UnitName, p *placing) (UnitDoc, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return UnitDoc{}, errors.Annotate(err, "cannot make a unit's id")
	}
	u := UnitDoc{Name: model.NewUnitName(app.Name, app.NextUnit), ID: id.String(), Principal: principal}
	app.NextUnit++
	app.Units++
	message := "waiting for machine"
	switch {
	case app.Sidecar:
		message = "installing agent"
		if err := t.placePod(&u, *app, p.constraints); err != nil {
			return u, errors.Trace(err)
		}
	case principal == "":
		if err := t.place(&u, app, p); err != nil {
			return u, errors.Trace(err)
		}
	default:
		p, err := t.unit(principal)
		if err != nil {
			return u, errors.Trace(err)
		}
		u.Machine, u.Provider, u.Pod, message = p.Machine, p.Provider, p.Pod, "installing agent"
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
	if err := t.put(unitKey(u.Name), u); err != nil {
		return u, errors.Trace(err)
	}
	if u, err = t.attachFirst(app, u, p); err != nil {
		return u, errors.Trace(err)
	}
	if err := t.firstStorage(app, u); err != nil {
		return u, errors.Trace(err)
	}
	return t.unit(u.Name)
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
