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
		c.Show = func(ctx context.Context, c *state.Controller, word machine.Word, what string) (out, notes []byte, err error) {
			infos, err := c.Models(ctx)
			if err != nil || what != "models" {
				return nil, nil, errors.Errorf("no %s: %v", what, err)
			}
			return []byte(infos[0].Name + word.Trouble), []byte("one"), nil
		}
	})
	w.settle()
	out, notes, err := machine.AskToShow(t.Context(), w.dir, "models")
	if err != nil || string(out) != "test" || string(notes) != "one" {
		t.Errorf("it shows %q, %q, %v", out, notes, err)
	}
	if _, _, err := machine.AskToShow(t.Context(), w.dir, "clouds"); err == nil || !strings.Contains(err.Error(), "no clouds") {
		t.Errorf("of what it doesn't know it says %v", err)
	}
	if _, _, err := machine.AskToShow(t.Context(), t.TempDir(), "models"); !errors.Is(err, errors.NotFound) {
		t.Errorf("where there is none the error is %v", err)
	}
	none := newWorld(t)
	none.settle()
	if _, _, err := machine.AskToShow(t.Context(), none.dir, "models"); err == nil {
		t.Error("one that shows nothing has no error")
	}
}
