package isolate_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
)

// benchMachine is a world for machines with systemd, and what one is to be.
func benchMachine(b *testing.B, t *testing.T) (*world, isolate.Spec) {
	b.Helper()
	if os.Getenv(baseVariable) == "" {
		b.Skip(baseVariable + " names no root with systemd")
	}
	w := benchWorld(b, t)
	return w, w.machine("app/0")
}

// BenchmarkMachineBoot is what a machine with systemd costs: the time from nothing until all
// that it starts is up (the median of the runs), its processor time until then, and the
// memory of its processes (PSS).
//
//	UNITD_TEST_BASE=DIR go test ./isolate -run - -bench MachineBoot -benchtime 20x
func BenchmarkMachineBoot(b *testing.B) {
	t := &testing.T{}
	w, spec := benchMachine(b, t)
	var took []time.Duration
	var processor, memory float64
	for b.Loop() {
		began := time.Now()
		c, err := w.cells.Open(context.Background(), unitKey, spec)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, time.Since(began))
		b.StopTimer()
		group := groupOf(t, c)
		processor += processorTime(b, group).Seconds()
		memory += pss(b, group)
		must(t, w.cells.Remove(unitKey))
		b.StartTimer()
	}
	slices.Sort(took)
	b.ReportMetric(took[len(took)/2].Seconds(), "median-s")
	b.ReportMetric(processor/float64(b.N), "processor-s")
	b.ReportMetric(memory/float64(b.N)/(1<<20), "PSS-MiB")
}

// atOnce is how many machines begin at the same time at most.
const atOnce = 12

// BenchmarkMachinesAtOnce is how long twelve machines with systemd, or as many as the host's
// inotify instances allow, take to boot at once, as a multiple of the sum of their processor
// time over the processors: it is at most 2.5.
//
//	UNITD_TEST_BASE=DIR go test ./isolate -run - -bench MachinesAtOnce -benchtime 3x
func BenchmarkMachinesAtOnce(b *testing.B) {
	t := &testing.T{}
	w, spec := benchMachine(b, t)
	var ratios []float64
	var machines int
	for b.Loop() {
		began := time.Now()
		cells := openAtOnce(b, w, spec)
		took := time.Since(began)
		b.StopTimer()
		var sum time.Duration
		for _, c := range cells {
			sum += processorTime(b, groupOf(t, c))
		}
		machines = len(cells)
		ratios = append(ratios, took.Seconds()*float64(runtime.NumCPU())/sum.Seconds())
		keys, err := w.cells.Keys()
		must(t, err)
		for _, key := range keys {
			must(t, w.cells.Remove(key))
		}
		b.StartTimer()
	}
	slices.Sort(ratios)
	b.ReportMetric(float64(machines), "machines")
	b.ReportMetric(ratios[len(ratios)/2], "of-processor-time")
	if ratios[0] > 2.5 {
		b.Errorf("%d machines take %v times their processor time over the processors", machines, ratios)
	}
}

// openAtOnce opens machines side by side, but for those that the host refuses for want of
// inotify instances.
func openAtOnce(b *testing.B, w *world, spec isolate.Spec) []*isolate.Cell {
	b.Helper()
	opened := make([]*isolate.Cell, atOnce)
	var all sync.WaitGroup
	for i := range opened {
		all.Go(func() {
			s := spec
			s.ID = fmt.Sprintf("app/%d", i)
			s.Name, s.Hostname = s.ID, fmt.Sprintf("app-%d", i)
			c, err := w.cells.Open(context.Background(), "m/"+s.Hostname, s)
			switch {
			case err == nil:
				opened[i] = c
			case !errors.Is(err, isolate.ErrNoRights) || !strings.Contains(err.Error(), "inotify"):
				b.Error(err)
			}
		})
	}
	all.Wait()
	return slices.DeleteFunc(opened, func(c *isolate.Cell) bool { return c == nil })
}

// processorTime is that of all that has run in a cgroup.
func processorTime(b *testing.B, group string) time.Duration {
	b.Helper()
	text, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		b.Skip("the kernel doesn't count the processor time of cgroups: ", err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "usage_usec" {
			n, err := strconv.ParseInt(f[1], 10, 64)
			if err != nil {
				b.Fatal(err)
			}
			return time.Duration(n) * time.Microsecond
		}
	}
	b.Skip("the kernel doesn't count the processor time of cgroups")
	return 0
}

// pss is the memory of all processes in a cgroup and those below, each with its part of what
// they share with others, in bytes.
func pss(b *testing.B, group string) (bytes float64) {
	b.Helper()
	err := filepath.WalkDir(group, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.Name() != "cgroup.procs" {
			return nil
		}
		procs, _ := os.ReadFile(path) // one that has gone meanwhile
		for _, pid := range strings.Fields(string(procs)) {
			text, _ := os.ReadFile("/proc/" + pid + "/smaps_rollup")
			for line := range strings.Lines(string(text)) {
				if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
					kib, _ := strconv.ParseFloat(f[1], 64)
					bytes += kib * 1024
				}
			}
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	return bytes
}
