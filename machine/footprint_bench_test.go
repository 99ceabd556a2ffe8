package machine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
)

// BenchmarkRecordFiles measures what it costs to record which files hooks change: hooks that
// follow each other, with and without, turn by turn. "x-off" is how many times as long a hook
// takes, from the end of the one before, as without; "x-off-cpu" how many times as much of the
// processor it, the agent and this test take.
func BenchmarkRecordFiles(b *testing.B) {
	for _, files := range []int{10, 1000} {
		for _, mode := range []string{"names", "content"} {
			b.Run(fmt.Sprintf("files=%d/%s", files, mode), func(b *testing.B) { benchmarkRecordFiles(b, files, mode) })
		}
	}
}

// block is how many hooks follow each other in the same mode, after one that finds out what
// there is.
const block = 10

func benchmarkRecordFiles(b *testing.B, files int, mode string) {
	w, runs := idleWorld(b)
	charm := filepath.Join(machine.ModelDir(w.dir, w.model.UUID()), "agents", "unit-noop-0", "charm")
	for i := range files {
		dir := filepath.Join(charm, "lib", fmt.Sprint(i/50))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint(i)), make([]byte, 2048), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	took, used := map[string][]time.Duration{}, map[string][]time.Duration{}
	n := 0
	run := func() {
		n++
		w.change(n)
		<-runs
	}
	measure := func(mode string) {
		if err := w.model.SetModelConfig(w.ctx, map[string]string{state.RecordFiles: mode}, nil); err != nil {
			b.Fatal(err)
		}
		run()
		begun, before := time.Now(), processorTime(b)
		for range block {
			run()
		}
		took[mode] = append(took[mode], time.Since(begun)/block)
		used[mode] = append(used[mode], (processorTime(b)-before)/block)
	}
	for b.Loop() {
		measure("off")
		measure(mode)
	}
	with, without := median(took[mode]), median(took["off"])
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(without), "us-off")
	b.ReportMetric(us(with), "us-"+mode)
	b.ReportMetric(us(with)/us(without), "x-off")
	b.ReportMetric(us(median(used[mode]))/us(median(used["off"])), "x-off-cpu")
}

// processorTime is what this process and those that it has waited for have used.
func processorTime(b *testing.B) (sum time.Duration) {
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var use syscall.Rusage
		if err := syscall.Getrusage(who, &use); err != nil {
			b.Fatal(err)
		}
		sum += time.Duration(use.Utime.Nano() + use.Stime.Nano())
	}
	return sum
}
