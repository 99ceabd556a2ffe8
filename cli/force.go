package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// removals is what verbs need that remove something, by force or not.
type removals struct{ base }

// forceFlags are --force and --no-wait: how much of what is due is left out when
// something is removed. Source: docs/spec/cli-juju.md §6.
type forceFlags struct{ force, noWait bool }

func (f *forceFlags) declare(fs *pflag.FlagSet) {
	fs.BoolVar(&f.force, "force", false, "skip hooks that fail, and don't wait for their resolution")
	fs.BoolVar(&f.noWait, "no-wait", false, "with --force: run no hook and wait for nobody")
}

// forceHelp says what the flags do, for help texts.
const forceHelp = `With --force hooks that fail on the way are skipped. With --force --no-wait no hook
runs and nobody is waited for: it ends within 10 s, and says what it leaves behind.`

func (f forceFlags) level() (state.Force, error) {
	switch {
	case f.noWait && !f.force:
		return 0, Usagef("--no-wait without --force not valid")
	case f.noWait:
		return state.Abandon, nil
	case f.force:
		return state.SkipFailing, nil
	}
	return state.Orderly, nil
}

// abandonTime is how long a command works at most at what it abandons: with its
// start and its end that makes less than 10 s.
const abandonTime = 7 * time.Second

// removing removes something with that much force. What is abandoned, and isn't
// gone in time, is the agent's to finish.
func (a removals) removing(what string, how state.Force, remove func(context.Context) error) error {
	if how != state.Abandon {
		return remove(a.Context())
	}
	ctx, cancel := context.WithTimeout(a.Context(), abandonTime)
	defer cancel()
	err := remove(ctx)
	switch {
	case err == nil || !errors.Is(err, context.DeadlineExceeded):
		return err
	case errors.Is(err, state.ErrUnfinished):
		a.Note("%s is on its way out, and not gone yet: the agent goes on with it", what)
		return nil
	}
	return fmt.Errorf("the model did not answer within %s: %w", abandonTime, err)
}

// warnUnit says what becomes of a unit by force.
func (a removals) warnUnit(m *state.Model, name model.UnitName, how state.Force) error {
	switch how {
	case state.SkipFailing:
		a.Note("%s: hooks that fail on its way out are skipped, and what they would have undone is left behind", name)
	case state.Abandon:
		left, err := m.LeftBehind(a.Context(), name)
		if err != nil {
			return err
		}
		fate, err := a.fateOf(m, name.Application(), "what it started is left running", "what it started ends with its machine")
		if err != nil {
			return err
		}
		a.Note("%s is taken away at once: no departed, broken, stop or remove hook of it runs, and %s", name, fate)
		for _, s := range left.Subordinates {
			a.Note("- %s goes with it", s)
		}
		for _, key := range left.Relations {
			a.Note("- %s: it leaves this relation without a hook", key)
		}
		for _, id := range left.Storage {
			a.Note("- %s: this storage is detached without a hook", id)
		}
	}
	return nil
}

// fateOf says what becomes of what units of the application have started: of isolated
// ones nothing is left. Source: docs/isolation.md.
func (a removals) fateOf(m *state.Model, application, shared, isolated string) (string, error) {
	doc, err := m.Application(a.Context(), application)
	if err != nil {
		return "", err
	}
	if doc.Isolation.On() {
		return isolated, nil
	}
	return shared, nil
}

// warnApplication says what becomes of an application by force.
func (a removals) warnApplication(m *state.Model, name string, how state.Force) error {
	switch how {
	case state.SkipFailing:
		a.Note("%s: hooks of its units, and of its relations, that fail on the way out are skipped, and what they would have undone is left behind", name)
	case state.Abandon:
		rels, err := m.RelationsOf(a.Context(), name)
		if err != nil {
			return err
		}
		fate, err := a.fateOf(m, name, "what they started is left running", "what they started ends with their machines")
		if err != nil {
			return err
		}
		a.Note("%s is taken away at once: no hook of its units runs, and %s", name, fate)
		for _, r := range rels {
			if !r.IsPeer() {
				a.Note("- %s: this relation goes without departed and broken hooks on either side", r.Key)
			}
		}
	}
	return nil
}

// warnRelation says what becomes of a relation by force.
func (a removals) warnRelation(m *state.Model, r state.RelationDoc, how state.Force) error {
	switch how {
	case state.SkipFailing:
		a.Note("%s: departed and broken hooks of it that fail are skipped, and what they would have undone is left behind", r.Key)
	case state.Abandon:
		units, err := m.InScope(a.Context(), r.ID)
		if err != nil {
			return err
		}
		a.Note("%s is taken away at once: no departed or broken hook of it runs, and what its units have set up for it is left behind%s", r.Key, amongThem(units))
	}
	return nil
}

// amongThem names some units, in brackets; none where there are none.
func amongThem(units []model.UnitName) string {
	if len(units) == 0 {
		return ""
	}
	const most = 6
	names := make([]string, min(len(units), most))
	for i := range names {
		names[i] = string(units[i])
	}
	text := strings.Join(names, ", ")
	if len(units) > most {
		text += fmt.Sprintf(" and %d more", len(units)-most)
	}
	return " (" + text + ")"
}

// fewToTell is how many units and relations go without any progress being told.
const fewToTell = 30

// tellOf tells how far a removal has come, a tenth at a time.
func (a removals) tellOf(what string) state.Progress {
	tenth := 0
	return func(done, total int) {
		if now := done * 10 / max(total, 1); total >= fewToTell && now > tenth {
			tenth = now
			a.Note("%s: %d of %d units and relations are on their way out", what, done, total)
		}
	}
}
