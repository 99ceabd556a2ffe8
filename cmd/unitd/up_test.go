package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/testcharms"
)

// TestTheShopRunsItsHooksInTheGuaranteedOrder runs the first command of the
// README and compares the whole sequence of each unit's hooks with the order of
// docs/spec/uniter-behaviour.md.
func TestTheShopRunsItsHooksInTheGuaranteedOrder(t *testing.T) {
	t.Parallel()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	data := filepath.Join(t.TempDir(), "data")
	bundle := filepath.Join(filepath.Dir(testcharms.Dir("shop")), "shop.yaml")
	cmd := exec.Command(filepath.Join(bin, "unitd"), "up", bundle, "--exit-when-settled", "--timeout", "2m")
	cmd.Env = append(os.Environ(), "UNITD_DATA="+data, "UNITD_ISOLATE=off")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, line := range []string{
		"ledger/0*  active    idle   0        127.0.0.1       5432/tcp  serving 1 consumer on port 5432",
		"shop/0*    active    idle   1        127.0.0.1                 connected to ledger/0 as shop",
	} {
		if !strings.Contains(string(out), line) {
			t.Errorf("the status has no line %q", line)
		}
	}
	boot := []string{"install", "db-relation-created", "leader-elected", "config-changed", "start"}
	ledger := append(slices.Clone(boot), "db-relation-joined shop/0", "db-relation-changed shop/0")
	shop := append(slices.Clone(boot), "db-relation-joined ledger/0", "db-relation-changed ledger/0")
	// The ledger publishes the credentials in its joined hook. The shop is told
	// of them by its first changed hook if they were there by then, or by a
	// second one: the two units run at the same time.
	again := append(slices.Clone(shop), "db-relation-changed ledger/0")
	if got := ran(t, data, "ledger/0"); !slices.Equal(got, ledger) {
		t.Errorf("ledger/0 ran\n  %s\nwant\n  %s", strings.Join(got, ", "), strings.Join(ledger, ", "))
	}
	if got := ran(t, data, "shop/0"); !slices.Equal(got, shop) && !slices.Equal(got, again) {
		t.Errorf("shop/0 ran\n  %s\nwant\n  %s\nand perhaps a last one again", strings.Join(got, ", "), strings.Join(shop, ", "))
	}
	if t.Failed() {
		t.Logf("%s", out)
	}
}

// ran are the hooks of a unit, each of which has committed.
func ran(t *testing.T, data string, unit model.UnitName) []string {
	t.Helper()
	dirs, err := filepath.Glob(filepath.Join(data, "models", "*", "history"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("%v, %v", dirs, err)
	}
	runs, err := history.Read(dirs[0], unit)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, run := range runs {
		if run.Outcome != history.Committed {
			t.Errorf("%s of %s was %s", run.Name, unit, run.Outcome)
		}
		names = append(names, strings.TrimSpace(run.Name+" "+string(run.Hook.RemoteUnit)))
	}
	return names
}
