package machine_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/clock"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/memory"
)

// TestPathsOfAuthors: what the tree has is shown as its author's, all else as it
// is.
func TestPathsOfAuthors(t *testing.T) {
	t.Parallel()
	ctx, home := context.Background(), t.TempDir()
	tree := filepath.Join(home, "my notes")
	for _, name := range []string{"src/charm.py", "hooks/start", "lib/a b.py"} {
		path := filepath.Join(tree, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, err := state.NewController(memory.New(clock.WallClock), clock.WallClock).AddModel(ctx, "m")
	if err != nil {
		t.Fatal(err)
	}
	for app, source := range map[string]string{"notes": tree, "packed": ""} {
		sum := sha256.Sum256([]byte(app))
		url, err := m.AddCharmFrom(ctx, source, model.Charm{Name: app}, hex.EncodeToString(sum[:]), strings.NewReader(app))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Deploy(ctx, state.DeployArgs{Application: app, Charm: url, Units: 1}); err != nil {
			t.Fatal(err)
		}
	}
	charm := func(unit string) string { return "/data/models/" + m.UUID() + "/agents/" + unit + "/charm/" }
	const inside = "/var/lib/juju/agents/unit-notes-0/charm/"
	sources := machine.NewSources(ctx, m, "/data", filepath.Join(home, "elsewhere"), home)
	for _, c := range []struct{ name, tag, text, want string }{
		{"a line of a traceback", "unit-notes-0", `  File "` + charm("unit-notes-0") + `src/charm.py", line 41, in _on_start`, `  ./my notes/src/charm.py:41, in _on_start`},
		{"with a path that isn't clean", "unit-notes-0", `File "` + charm("unit-notes-0") + `./src/charm.py", line 1`, `./my notes/src/charm.py:1`},
		{"of a file with a blank", "unit-notes-0", `File "` + charm("unit-notes-0") + `lib/a b.py", line 2`, `./my notes/lib/a b.py:2`},
		{"what a shell says", "unit-notes-0", charm("unit-notes-0") + "hooks/start: 3: foo: not found", "./my notes/hooks/start: 3: foo: not found"},
		{"inside of an isolated unit", "unit-notes-0", "at " + inside + "hooks/start:9", "at ./my notes/hooks/start:9"},
		{"a file that the tree hasn't", "unit-notes-0", inside + "venv/ops/main.py:9", inside + "venv/ops/main.py:9"},
		{"out of the tree", "unit-notes-0", inside + "../../x", inside + "../../x"},
		{"another unit's", "unit-notes-1", inside + "src/charm.py", inside + "src/charm.py"},
		{"a charm that was packed", "unit-packed-0", charm("unit-packed-0") + "src/charm.py", charm("unit-packed-0") + "src/charm.py"},
		{"what is gone", "unit-gone-0", charm("unit-gone-0") + "src/charm.py", charm("unit-gone-0") + "src/charm.py"},
		{"no unit", "machine-0", "/charm/src/charm.py", "/charm/src/charm.py"},
	} {
		if got := sources.Text(c.tag, c.text); got != c.want {
			t.Errorf("%s: %s\nwant %s", c.name, got, c.want)
		}
	}
	if got := machine.NewSources(ctx, m, "/data", "/").Text("unit-notes-0", inside+"src/charm.py"); got != "."+filepath.Join(tree, "src/charm.py") {
		t.Errorf("from somewhere above: %s", got)
	}
	if got := (*machine.Sources)(nil).Text("unit-notes-0", inside); got != inside {
		t.Errorf("nobody: %s", got)
	}
}
