package machine

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/memory"
)

// TestTheCellsOfUnitsThatAreGoneAreCleared with their workload containers; those of
// units that are there stay, and so do theirs.
func TestTheCellsOfUnitsThatAreGoneAreCleared(t *testing.T) {
	t.Parallel()
	controller := state.NewController(memory.New(clock.WallClock), clock.WallClock)
	m, err := controller.AddModel(context.Background(), "test")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	log := slog.New(slog.DiscardHandler)
	a := &modelAgent{Config: Config{Dir: dir, Cells: NewCells(dir, ""), Log: log}, model: m, log: log, wiring: &wiring{}}
	here := CellKey(m.UUID(), "app/0")
	for _, key := range []string{
		here, isolate.ContainerKey(here, "web"), CellKey(m.UUID(), "app/1"), isolate.ContainerKey(CellKey(m.UUID(), "app/1"), "web"),
		isolate.ContainerKey(CellKey(m.UUID(), "app/2"), "web"), "another/unit-app-1",
	} {
		if err := os.MkdirAll(filepath.Join(a.Cells.Dir, key), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	a.clearCells(map[string]bool{"unit-app-0": true})
	keys, err := a.Cells.Keys()
	slices.Sort(keys)
	want := []string{here, isolate.ContainerKey(here, "web"), "another/unit-app-1"}
	slices.Sort(want)
	if err != nil || !slices.Equal(keys, want) {
		t.Errorf("got %q, %v, want %q", keys, err, want)
	}
	a.removeCell("unit-app-0")
	if keys, err := a.Cells.Keys(); err != nil || !slices.Equal(keys, []string{"another/unit-app-1"}) {
		t.Errorf("got %q, %v", keys, err)
	}
}
