package testcharms_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// framework is where the packages of a framework are, made by "make venv".
func framework(t *testing.T, folder string) string {
	t.Helper()
	venv, err := filepath.Abs(venvOfOps(t))
	if err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(venv, folder))
	if err == nil && len(found) == 1 {
		return found[0]
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI has to run the charms with %s: %v, %v", folder, found, err)
	}
	t.Skipf("skipped: the environment has no %s; \"make venv\" makes one", folder)
	return ""
}

// python is the interpreter of the environment.
func python(t *testing.T) string { return framework(t, "bin/python") }

// play runs a script of testdata with words replaced; the script is named
// after what sets this run apart.
func play(t *testing.T, file, name string, words map[string]string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	pairs := []string{"@PYTHON@", python(t)}
	for word, to := range words {
		pairs = append(pairs, "@"+word+"@", to)
	}
	path := filepath.Join(t.TempDir(), name+".txtar")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(data))), 0o600); err != nil {
		t.Fatal(err)
	}
	script.RunFiles(t, script.Params{Files: []string{path}, Unitd: unitd(t), Isolate: model.IsolateOff})
}

// TestHostLifeOfCharmsWithLinkedHooks: a charm written with charm-helpers and an
// old one written with Ops, both with links for hooks and without a dispatch.
// Source: docs/spec/ops-needs.md §3 (what charm-helpers calls) and §5.
func TestHostLifeOfCharmsWithLinkedHooks(t *testing.T) {
	t.Parallel()
	play(t, "charmhelpers-life.txtar", "charmhelpers", map[string]string{
		"CHARMHELPERS": framework(t, "charmhelpers"), "OPS": framework(t, "ops2"),
	})
}

// TestReasonOfAnOpsFailure: Ops logs the traceback and prints nothing.
func TestReasonOfAnOpsFailure(t *testing.T) {
	t.Parallel()
	play(t, "ops-failure.txtar", "ops-failure", map[string]string{"OPS": framework(t, "lib/python*/site-packages")})
}

// side is how one of the two charms is run.
type side struct {
	ops   int  // 2 or 3, the newest of these
	model bool // what it remembers is kept in the model (use_juju_for_storage)
}

func (s side) words(t *testing.T, name string, words map[string]string) {
	folder, storage, files := "lib/python*/site-packages", "False", "1"
	if s.ops == 2 {
		folder = "ops2"
	}
	if s.model {
		storage, files = "True", "0"
	}
	words[name+"_OPS"], words[name+"_STORAGE"], words[name+"_FILE"] = framework(t, folder), storage, files
}

func (s side) String() string {
	if s.model {
		return fmt.Sprintf("ops%d-model", s.ops)
	}
	return fmt.Sprintf("ops%d-file", s.ops)
}

// TestLifeOfOpsCharms: two charms written with Ops are deployed, integrated,
// upgraded, scaled and removed, one with each major version, and with both places
// where Ops keeps what a charm remembers.
// Source: docs/spec/ops-needs.md §3 to §5.
func TestLifeOfOpsCharms(t *testing.T) {
	t.Parallel()
	liveOps(t, "#", [2]side{{ops: 3, model: true}, {ops: 2}})
}

// TestHostLifeOfOpsCharms is the first half of that with the sides changed; with
// UNITD_TEST_LONG the whole, with each major version on each side and each place.
func TestHostLifeOfOpsCharms(t *testing.T) {
	t.Parallel()
	if os.Getenv("UNITD_TEST_LONG") == "" {
		liveOps(t, "stop 'The rest is left to the long tests.'", [2]side{{ops: 2}, {ops: 3, model: true}})
		return
	}
	var pairs [][2]side
	all := []side{{2, false}, {2, true}, {3, false}, {3, true}}
	for _, a := range all {
		for _, b := range all {
			pairs = append(pairs, [2]side{a, b})
		}
	}
	liveOps(t, "#", pairs...)
}

// liveOps has each pair of charms live together; the line stands in the middle of
// the life.
func liveOps(t *testing.T, line string, pairs ...[2]side) {
	for _, p := range pairs {
		t.Run(fmt.Sprintf("%s-and-%s", p[0], p[1]), func(t *testing.T) {
			t.Parallel()
			words := map[string]string{"SHORT": line}
			p[0].words(t, "DEPOT", words)
			p[1].words(t, "READER", words)
			play(t, "ops-life.txtar", fmt.Sprintf("%s-and-%s", p[0], p[1]), words)
		})
	}
}
