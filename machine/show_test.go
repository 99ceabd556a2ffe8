package machine_test

import (
	"context"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// TestAnAgentShowsItsModelsToWhoAsks: it gives what it was configured to make of the
// question; who gets nothing of it has an error, and looks for himself.
func TestAnAgentShowsItsModelsToWhoAsks(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, func(c *machine.Config) {
		c.Show = func(ctx context.Context, c *state.Controller, word func() machine.Word, what string) (out, notes []byte, err error) {
			if what == "nothing" {
				panic("nobody can")
			}
			infos, err := c.Models(ctx)
			if err != nil || what != "models" {
				return nil, nil, errors.Errorf("no %s: %v", what, err)
			}
			return []byte(infos[0].Name + word().Trouble), []byte("one"), nil
		}
	})
	w.settle()
	out, notes, err := show(t, w, "models")
	if err != nil || string(out) != "test" || string(notes) != "one" {
		t.Errorf("it shows %q, %q, %v", out, notes, err)
	}
	if _, _, err := show(t, w, "clouds"); err == nil || !strings.Contains(err.Error(), "no clouds") {
		t.Errorf("of what it doesn't know it says %v", err)
	}
	// What panics fails alone: the agent goes on.
	if _, _, err := show(t, w, "nothing"); err == nil || !strings.Contains(err.Error(), "nobody can") {
		t.Errorf("of what panics it says %v", err)
	}
	if out, _, err := show(t, w, "models"); err != nil || string(out) != "test" {
		t.Errorf("after that it shows %q, %v", out, err)
	}
	if _, _, err := machine.AskToShow(t.Context(), t.TempDir(), "models"); !errors.Is(err, errors.NotFound) {
		t.Errorf("where there is none the error is %v", err)
	}
	none := newWorld(t)
	none.settle()
	if _, _, err := show(t, none, "models"); err == nil {
		t.Error("one that shows nothing has no error")
	}
}

// show asks the world's agent, however busy it is.
func show(t *testing.T, w *world, what string) (out, notes []byte, err error) {
	t.Helper()
	for {
		out, notes, err = machine.AskToShow(w.ctx, w.dir, what)
		if !errors.Is(err, machine.ErrSilent) || w.ctx.Err() != nil {
			return out, notes, err
		}
	}
}
