package state

import (
	"context"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// An application of a container charm has a scale in place of machines: its units
// are numbered densely from 0, the highest go first, and their numbers are used
// again. Source: docs/spec/containers.md §7.2.

// podName is what a container unit's pod is called, which stands for its machine.
// No application is called so, and no other machine.
func podName(u model.UnitName) string { return fmt.Sprintf("%s-%d", u.Application(), u.Number()) }

// SetScale says how many units an Alive container application is to have, and
// returns when those that are missing are there and those that are too many are on
// their way out, with that much force. A unit whose number is still in use by one
// that goes comes when that has gone. Errors: NotFound, NotSupported for an
// application with machines, NotValid for fewer units than none and more than most.
func (m *Model) SetScale(ctx context.Context, application string, scale int, how Force) error {
	_, err := m.changeScale(ctx, application, how, func(int) (int, error) { return scale, nil })
	return errors.Trace(err)
}

// ChangeScale is SetScale by so many units more, or fewer, and returns how many
// there are to be then. The error is NotValid where so many can't go.
func (m *Model) ChangeScale(ctx context.Context, application string, by int, how Force) (int, error) {
	return m.changeScale(ctx, application, how, func(now int) (int, error) {
		if now+by < 0 {
			return 0, errors.NewNotValid(nil, "cannot remove more units than currently exist not valid")
		}
		return now + by, nil
	})
}

// mostScale is how many units a container application can have.
const mostScale = 1000

func (m *Model) changeScale(ctx context.Context, application string, how Force, next func(int) (int, error)) (scale int, err error) {
	err = m.changeApplication(ctx, application, func(tx *txn, app *ApplicationDoc) (err error) {
		if !app.Sidecar {
			return errors.NewNotSupported(nil, "scaling applications on a non-container model not supported")
		}
		if scale, err = next(app.Scale); err != nil {
			return errors.Trace(err)
		}
		switch {
		case scale < 0:
			return errors.NewNotValid(nil, "scale must be a positive integer")
		case scale > mostScale:
			return errors.NewNotValid(nil, fmt.Sprintf("an application has at most %d units, got %d", mostScale, scale))
		}
		app.Scale = scale
		// Who is cut off after this leaves the rest to the agent.
		return tx.queue(cleanupDoc{ScaleOf: application})
	})
	if err != nil {
		return scale, errors.Trace(err)
	}
	return scale, unfinished(m.rescale(ctx, application, how))
}

// rescale has a container application the units that its scale asks for. It can
// be stopped and run again at any point.
func (m *Model) rescale(ctx context.Context, application string, how Force) error {
	surplus, err := m.surplus(ctx, application)
	if err != nil {
		return errors.Trace(err)
	}
	for _, u := range surplus {
		if err := m.shrinkBy(ctx, u, how); err != nil {
			return errors.Trace(err)
		}
	}
	for more := true; more; {
		_, err := m.update(ctx, func(tx *txn) (err error) {
			more, err = tx.grow(application)
			return errors.Trace(err)
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// addContainerUnits is AddUnits for a container application: of what is asked for,
// those that come when others have gone aren't among the names.
func (m *Model) addContainerUnits(ctx context.Context, app ApplicationDoc, n int, to []string) ([]model.UnitName, error) {
	switch {
	case len(to) > 0:
		return nil, errors.NewNotValid(nil, "k8s models only support --num-units")
	case app.Life != model.Alive:
		return nil, errors.NewNotValid(nil, fmt.Sprintf("cannot add unit to application %q: application is not alive", app.Name))
	}
	scale, err := m.ChangeScale(ctx, app.Name, n, Orderly)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var names []model.UnitName
	for i := scale - n; i < scale; i++ {
		names = append(names, model.NewUnitName(app.Name, i))
	}
	return names, nil
}

// surplus are the units with numbers that the scale doesn't reach, the highest
// first; none of an application that is gone, or is going.
func (m *Model) surplus(ctx context.Context, application string) (units []UnitDoc, err error) {
	_, err = m.view(ctx, func(r docs) error {
		units = nil
		app, err := r.application(application)
		if errors.Is(err, errors.NotFound) || err == nil && (app.Life != model.Alive || !app.Sidecar) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		all, err := r.unitsOf(application)
		units = slices.DeleteFunc(all, func(u UnitDoc) bool { return u.Name.Number() < app.Scale || u.Life == model.Dead })
		slices.SortFunc(units, func(a, b UnitDoc) int { return b.Name.Number() - a.Name.Number() })
		return errors.Trace(err)
	})
	return units, errors.Trace(err)
}

// shrinkBy has one unit go, unless the scale has grown back meanwhile.
func (m *Model) shrinkBy(ctx context.Context, unit UnitDoc, how Force) error {
	own, wanted := m.Of(unit), false
	_, err := own.update(ctx, func(tx *txn) error {
		app, err := tx.application(unit.Name.Application())
		if err != nil {
			return errors.Trace(err)
		}
		if wanted = unit.Name.Number() < app.Scale; wanted || how == Abandon {
			return nil
		}
		u, err := tx.unit(unit.Name)
		if err != nil {
			return errors.Trace(err)
		}
		if err := tx.setDying(u, how); err != nil {
			return errors.Trace(err)
		}
		return tx.removeUndeployed(unit.Name)
	})
	if err == nil && how == Abandon && !wanted {
		err = own.ForceRemoveUnit(ctx, unit.Name)
	}
	if errors.Is(err, errors.NotFound) {
		return nil // it has gone meanwhile
	}
	return errors.Trace(err)
}

// grow makes some of the units that an Alive application lacks, and says whether
// there are more. A charm that says of no image gets none: see CheckContainers.
func (t *txn) grow(application string) (more bool, err error) {
	app, err := t.application(application)
	if errors.Is(err, errors.NotFound) || err == nil && (app.Life != model.Alive || !app.Sidecar) {
		return false, nil
	}
	if err != nil {
		return false, errors.Trace(err)
	}
	charm, err := t.charm(app.Charm)
	if err != nil {
		return false, errors.Trace(err)
	}
	missing, err := t.missing(app, charm.Charm)
	if err != nil || len(missing) == 0 {
		return false, errors.Trace(err)
	}
	ofModel, err := t.modelConstraints()
	if err != nil {
		return false, errors.Trace(err)
	}
	p := &placing{constraints: ofModel}
	some := missing[:min(len(missing), p.unitsPerTxn(0, app, charm.Charm))]
	for _, n := range some {
		app.NextUnit = n
		if _, err := t.addUnit(&app, "", p); err != nil {
			return false, errors.Trace(err)
		}
	}
	return len(some) < len(missing), t.put(applicationKey(app.Name), app)
}

// missing are the numbers of the units that the scale asks for and that nobody has.
func (d docs) missing(app ApplicationDoc, charm model.Charm) (numbers []int, err error) {
	if charm.CheckContainers() != nil {
		return nil, nil
	}
	units, err := d.unitsOf(app.Name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	taken := map[int]bool{}
	for _, u := range units {
		taken[u.Name.Number()] = true
	}
	for n := range app.Scale {
		if !taken[n] {
			numbers = append(numbers, n)
		}
	}
	return numbers, nil
}

// placePod gives a container unit its pod, which people don't see among machines.
func (t *txn) placePod(u *UnitDoc, app ApplicationDoc, ofModel model.Constraints) error {
	u.Machine, u.Pod, u.Arch = podName(u.Name), true, app.together(ofModel).Architecture()
	if err := t.put(podKey(u.Name), PodDoc{Wanted: app.pod(0)}); err != nil {
		return errors.Trace(err)
	}
	return t.put(machineKey(u.Machine), MachineDoc{ID: u.Machine, ForUnit: true, Pod: true, Units: []model.UnitName{u.Name}})
}

// keepStorage notes that storage was a container unit's, which is to have it again
// when there is a unit of its name again: K-117.
func (t *txn) keepStorage(u UnitDoc, id model.StorageID) error {
	if !u.Pod || u.Principal != "" || u.Life == model.Alive {
		return nil
	}
	s, err := t.storageDoc(id)
	if errors.Is(err, errors.NotFound) || err == nil && s.Life != model.Alive {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	app, err := t.application(u.Name.Application())
	if errors.Is(err, errors.NotFound) || err == nil && app.Life != model.Alive {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if app.Kept == nil {
		app.Kept = map[model.UnitName][]model.StorageID{}
	}
	app.Kept[u.Name] = append(app.Kept[u.Name], id)
	return t.put(applicationKey(app.Name), app)
}

// takeKept attaches what was kept for the unit of one of its charm's names, up to
// most, and counts it. What is somewhere else by now, or going, it leaves.
func (t *txn) takeKept(app *ApplicationDoc, unit model.UnitName, name string, spec model.StorageSpec, most int) (n int, err error) {
	for _, id := range app.Kept[unit] {
		if id.Name() != name || n == most {
			continue
		}
		s, err := t.storageDoc(id)
		if errors.Is(err, errors.NotFound) || err == nil && (s.Life != model.Alive || s.Unit != "" || s.Kind != spec.Type) {
			continue
		}
		if err != nil {
			return n, errors.Trace(err)
		}
		u, err := t.unit(unit)
		if err != nil {
			return n, errors.Trace(err)
		}
		if err := t.attach(&u, s, spec, true); err != nil {
			return n, errors.Trace(err)
		}
		if err := t.put(unitKey(unit), u); err != nil {
			return n, errors.Trace(err)
		}
		n++
	}
	return n, nil
}

// podLocation is where the charm of a container unit has the next instance of
// storage of a name: instances are counted from 0 in each unit, whatever their ids.
// Source: docs/spec/containers.md §5.4.
func (d docs) podLocation(u UnitDoc, name string, spec model.StorageSpec) (string, error) {
	if spec.Location != "" && spec.CountMax == 1 {
		return spec.Location, nil
	}
	attached, err := list[AttachmentDoc](d, attachmentsOf(u.Name))
	if err != nil {
		return "", errors.Trace(err)
	}
	for i := 0; ; i++ {
		at := model.PodStorage(spec.Location, name, i)
		if !slices.ContainsFunc(attached, func(a AttachmentDoc) bool { return a.Wanted == at }) {
			return at, nil
		}
	}
}
