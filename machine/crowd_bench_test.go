package machine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
)

// crowd is how many units BenchmarkCrowd deploys at once; a thousand for figures.
func crowd() int {
	if os.Getenv("UNITD_TEST_LONG") != "" {
		return 1000
	}
	return 100
}

// BenchmarkCrowd measures an agent that is given many units at once, of a charm
// whose dispatch does nothing: from the deployment until all is settled,
// against what a Go program takes to start as many processes, as many at a time as
// there are processors. "x-bare" is the ratio; "us-cpu/hook" is the agent's own
// processor time for each hook, without that of the hooks' processes.
func BenchmarkCrowd(b *testing.B) {
	for b.Loop() {
		var hooks atomic.Int64
		w := newWorldWith(b, func(c *machine.Config) {
			c.ToolClient = fastClient(b)
			c.Observer = func(e machine.Event) {
				if e.Kind == machine.HookRun {
					hooks.Add(1)
				}
			}
		})
		url := w.charm("name: crowd\nsummary: s\ndescription: d\n", "#!/bin/sh\nexit 0\n")
		cpu, start := ownTime(b), time.Now()
		w.deploy("crowd", url, crowd())
		w.settle()
		took, used := time.Since(start), ownTime(b)-cpu
		n := int(hooks.Load())
		bare := startProcesses(b, n)
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(float64(n), "hooks")
		b.ReportMetric(us(used)/float64(n), "us-cpu/hook")
		b.ReportMetric(took.Seconds(), "s-settled")
		b.ReportMetric(took.Seconds()/bare.Seconds(), "x-bare")
		w.stop()
	}
}

// fastClient is the hook tools' client in C, as make builds it; empty where it can't be
// built.
func fastClient(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "unitd-hooktool-c")
	out, err := exec.Command("make", "-s", "-C", "..", "c-client", "C_CLIENT="+path).CombinedOutput()
	if err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

// ownTime is the processor time of this process alone.
func ownTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// startProcesses is the time that n processes of a script that does nothing take.
func startProcesses(b *testing.B, n int) time.Duration {
	script := filepath.Join(b.TempDir(), "dispatch")
	if err := os.WriteFile(script, []byte("#!/bin/sh\nexit 0\n"), 0o755); err != nil {
		b.Fatal(err)
	}
	start := time.Now()
	var left atomic.Int64
	left.Store(int64(n))
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := exec.Command(script).Run(); err != nil {
					b.Error(err)
				}
			}
		})
	}
	all.Wait()
	return time.Since(start)
}
