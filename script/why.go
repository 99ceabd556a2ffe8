package script

import (
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/why"
)

// holds says what holds a unit; empty where nothing does, or nobody can tell.
func (w *world) holds(m *state.Model, unit model.UnitName) string {
	var agent *machine.Word
	if _, noAgent := w.running(); noAgent == nil {
		word, err := machine.Ask(w.ctx, w.dir)
		if err != nil {
			return ""
		}
		agent = &word
	}
	f, err := why.Look(w.ctx, m, w.dir, unit, agent, w.clock.Now())
	if err != nil {
		return ""
	}
	if a := why.Say(f); a.State != why.Settled {
		return w.sources(m).Text(unit.Tag(), a.Sentence)
	}
	return ""
}

// explained adds to the error of a wait what holds each unit that isn't settled.
func (w *world) explained(err error) error {
	m, merr := w.model()
	if err == nil || merr != nil {
		return err
	}
	units, merr := m.Units(w.ctx)
	if merr != nil {
		return err
	}
	text := err.Error()
	for _, u := range units {
		if s := w.holds(m, u.Name); s != "" {
			text += fmt.Sprintf("\n  %s", s)
		}
	}
	return errors.New(text)
}
