package testcharms_test

import (
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// TestHostSecretsWithOps: charms that are written with Ops, for which secrets are
// methods and events, own and read one.
func TestHostSecretsWithOps(t *testing.T) {
	t.Parallel()
	found, err := filepath.Glob(filepath.Join(venvOfOps(t), "lib", "python*", "site-packages"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the environment has no packages: %v, %v", found, err)
	}
	packages, err := filepath.Abs(found[0])
	if err != nil {
		t.Fatal(err)
	}
	script.RunFiles(t, script.Params{
		Files: []string{filepath.Join("testdata", "ops-secrets.txtar")}, Unitd: unitd(t), Here: packages, Isolate: model.IsolateOff,
	})
}
