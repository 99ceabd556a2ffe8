package testcharms_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/testcharms"
)

// leastOps is a charm that does what Ops does for each, and no more.
const leastOps = `#!/usr/bin/env python3
import ops


class LeastCharm(ops.CharmBase):
    pass


if __name__ == "__main__":
    ops.main(LeastCharm)
`

// BenchmarkOpsHook compares a hook of an Ops charm that does nothing, from the commit
// that causes it to its own commit, with its floor: an interpreter that imports Ops,
// with nothing around it. Both have their byte code. A third one is the same hook in a
// model with warm-python. They are measured by turns.
func BenchmarkOpsHook(b *testing.B) {
	charm := testcharms.CopyOps(b, venvOfOps(b))
	if err := os.WriteFile(filepath.Join(charm, "src", "charm.py"), []byte(leastOps), 0o755); err != nil {
		b.Fatal(err)
	}
	cold, warm := newOpsHook(b, charm, "false"), newOpsHook(b, charm, "true")
	bare := func(code string) time.Duration {
		cmd := exec.Command("python3", "-c", code)
		cmd.Dir, cmd.Env = cold.charmDir("opsy/0"), append(os.Environ(), "PYTHONPATH=lib:venv:src")
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return time.Since(began)
	}
	warm.run("greeting", 0) // the first ones show what is imported
	var colds, warms, imports, starts []time.Duration
	for i := 1; b.Loop(); i++ {
		colds, warms = append(colds, cold.run("greeting", i)), append(warms, warm.run("greeting", i))
		imports, starts = append(imports, bare("import ops")), append(starts, bare("pass"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(colds), "ms-hook")
	b.ReportMetric(middle(imports), "ms-import-ops")
	b.ReportMetric(middle(starts), "ms-python")
	b.ReportMetric(middle(colds)-middle(imports), "ms-more")
	b.ReportMetric(middle(warms), "ms-warm")
	b.ReportMetric(middle(colds)/middle(warms), "x-warm")
}

// idleUnit is the one unit of a charm, which waits.
type idleUnit struct {
	*world
	app     string
	changes <-chan state.Change
}

func newOpsHook(b *testing.B, charm, warm string) idleUnit {
	w := newWorld(b)
	w.must(w.model.SetModelConfig(w.ctx, map[string]string{state.WarmPython: warm}, nil))
	return newIdleUnit(w, charm)
}

func newIdleUnit(w *world, charm string) idleUnit {
	w.deploy(charm, 1)
	w.settle()
	changes, err := w.model.Watch(w.ctx, 0)
	w.must(err)
	return idleUnit{w, filepath.Base(charm), changes}
}

// run is how long config-changed takes, once that option is set to another number.
func (o idleUnit) run(option string, i int) time.Duration {
	newest := func() int64 {
		doc, err := o.model.Unit(o.ctx, model.UnitName(o.app+"/0"))
		o.must(err)
		return doc.Run
	}
	before, began := newest(), time.Now()
	o.set(o.app, fmt.Sprintf("%s=%d", option, i))
	for newest() == before {
		<-o.changes
	}
	took := time.Since(began)
	o.settle()
	return took
}

// middle is the median, in milliseconds.
func middle(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
