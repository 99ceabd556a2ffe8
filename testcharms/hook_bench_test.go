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
// with nothing around it. Both have their byte code. They are measured by turns.
func BenchmarkOpsHook(b *testing.B) {
	charm := testcharms.CopyOps(b, venvOfOps(b))
	if err := os.WriteFile(filepath.Join(charm, "src", "charm.py"), []byte(leastOps), 0o755); err != nil {
		b.Fatal(err)
	}
	w := newWorld(b)
	w.deploy(charm, 1)
	w.settle()
	const unit = model.UnitName("opsy/0")
	bare := func(code string) time.Duration {
		cmd := exec.Command("python3", "-c", code)
		cmd.Dir, cmd.Env = w.charmDir(unit), append(os.Environ(), "PYTHONPATH=lib:venv:src")
		began := time.Now()
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("%v: %s", err, out)
		}
		return time.Since(began)
	}
	changes, err := w.model.Watch(w.ctx, 0)
	w.must(err)
	run := func() int64 {
		doc, err := w.model.Unit(w.ctx, unit)
		w.must(err)
		return doc.Run
	}
	var hook, imports, starts []time.Duration
	for i := 0; b.Loop(); i++ {
		before := run()
		began := time.Now()
		w.set("opsy", fmt.Sprintf("greeting=%d", i))
		for run() == before {
			<-changes
		}
		hook = append(hook, time.Since(began))
		w.settle()
		imports = append(imports, bare("import ops"))
		starts = append(starts, bare("pass"))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(hook), "ms-hook")
	b.ReportMetric(middle(imports), "ms-import-ops")
	b.ReportMetric(middle(starts), "ms-python")
	b.ReportMetric(middle(hook)-middle(imports), "ms-more")
}

// middle is the median, in milliseconds.
func middle(d []time.Duration) float64 {
	slices.Sort(d)
	return float64(d[len(d)/2].Microseconds()) / 1000
}
