package script

import (
	"cmp"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// saying is what a unit of a stub, or its application, writes to its databags.
type saying struct {
	model       string // its name
	unit        model.UnitName
	application string // whose databag it is; empty: the unit's
	endpoint    string // empty: any
	bag         model.Settings
}

// who is the unit that writes it. An application of which none leads yet, as it is new,
// speaks by its first one.
func (w *world) who(m *state.Model, s saying) (model.UnitName, error) {
	if s.application == "" {
		return s.unit, nil
	}
	return w.speaker(m, s.application)
}

// speaker is the unit that speaks for an application of a stub.
func (w *world) speaker(m *state.Model, application string) (model.UnitName, error) {
	unit, _, err := m.Leadership(w.ctx, application)
	if err != nil || unit != "" {
		return unit, err
	}
	units, err := m.Units(w.ctx)
	if err != nil {
		return "", err
	}
	i := slices.IndexFunc(units, func(u state.UnitDoc) bool { return u.Name.Application() == application })
	if i >= 0 {
		return units[i].Name, nil
	}
	if _, err := m.Application(w.ctx, application); err != nil {
		return "", err
	}
	return "", errors.WithType(errors.Errorf("%s has no unit, which would write for it", application), errNoSpeaker)
}

// errNoSpeaker is the error where an application has no unit yet, or none any more.
const errNoSpeaker = errors.ConstError("no unit writes for the application")

// say writes what is said in all relations that it is for. said: there was one.
func (w *world) say(m *state.Model, s saying) (said bool, err error) {
	unit, err := w.who(m, s)
	if err != nil {
		return false, err
	}
	detail, err := m.ShowUnit(w.ctx, unit)
	if err != nil {
		return false, err
	}
	changes := model.Changes{Relations: map[model.RelationID]model.RelationChange{}}
	for _, r := range detail.Relations {
		if s.endpoint != "" && r.Own.Name != s.endpoint {
			continue
		}
		change := model.RelationChange{Unit: s.bag}
		if s.application != "" {
			change = model.RelationChange{Application: s.bag}
		}
		changes.Relations[r.ID] = change
	}
	if len(changes.Relations) == 0 {
		return false, nil
	}
	return true, m.ApplyAsLeader(w.ctx, unit, changes)
}

// sayEarly writes what was said before there was a relation, where there is one now. The
// agent stands still, so the relation has it from its beginning. What can't be written keeps
// nothing else from it. The error is the first one.
func (w *world) sayEarly() error {
	var left []saying
	var failed error
	for _, s := range w.early {
		m, err := w.models.Model(w.ctx, s.model)
		said := false
		if err == nil {
			said, err = w.say(m, s)
		}
		switch {
		case errors.Is(err, errNoSpeaker):
			left = append(left, s) // until a unit is added
		case errors.Is(err, errors.NotFound): // the model, the application or the unit has gone
		case err != nil:
			left = append(left, s)
			failed = cmp.Or(failed, errors.Annotatef(err, "cannot write what %s was to say", cmp.Or(s.application, string(s.unit))))
		case !said:
			left = append(left, s)
		}
	}
	w.early = left
	return failed
}
