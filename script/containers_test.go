package script_test

import (
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/script"
)

// TestHostScriptsWithContainers: what scripts can do to workload containers, which
// have real Pebbles.
func TestHostScriptsWithContainers(t *testing.T) {
	t.Parallel()
	mayIsolate(t)
	files, err := script.Find(filepath.Join("testdata", "containers"))
	if err != nil {
		t.Fatal(err)
	}
	script.RunFiles(t, script.Params{Files: files, Unitd: program(t), Isolate: model.IsolateOn, Pebble: pebbletest.Program(t)})
}
