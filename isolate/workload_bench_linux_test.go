package isolate_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// BenchmarkContainerStart is the time from Open to the first instructions of a
// container's first program, a shell that prints the time; "open" is how long Open
// takes itself.
//
//	go test ./isolate -run - -bench ContainerStart
func BenchmarkContainerStart(b *testing.B) {
	t := &testing.T{}
	w := benchWorld(b, t)
	unit, err := w.cells.Open(context.Background(), unitKey, w.spec("app/0", model.IsolateOn))
	if err != nil {
		b.Skip(err)
	}
	spec := w.container("web", unit)
	spec.First.Path, spec.First.Args = "/bin/sh", []string{"-c", `read up rest </proc/uptime; echo $up; read wait <` + scratch + `/fifo`}
	must(t, exec.Command("mkfifo", spec.Binds[0].From+"/fifo").Run())
	key := isolate.ContainerKey(unitKey, "web")
	var open time.Duration
	for b.Loop() {
		_ = os.Truncate(spec.First.Log, 0)
		before := time.Now()
		c, err := w.cells.Open(context.Background(), key, spec)
		if err != nil {
			b.Fatal(err)
		}
		open += time.Since(before)
		for {
			if st, err := os.Stat(spec.First.Log); err == nil && st.Size() > 0 {
				break
			}
			time.Sleep(100 * time.Microsecond)
		}
		b.StopTimer()
		must(t, c.Stop(context.Background(), 0))
		b.StartTimer()
	}
	b.ReportMetric(float64(open.Microseconds())/1000/float64(b.N), "open-ms/op")
}

// BenchmarkContainerMemory is the private dirty memory of all processes of a
// container whose first program is a shell that waits: nothing of this program is
// in it.
func BenchmarkContainerMemory(b *testing.B) {
	t := &testing.T{}
	w := benchWorld(b, t)
	spec := w.container("web", nil)
	spec.First.Path, spec.First.Args = "/bin/sh", []string{"-c", "echo began; read wait <" + scratch + "/fifo"}
	must(t, exec.Command("mkfifo", spec.Binds[0].From+"/fifo").Run())
	c := &container{w: w, spec: spec}
	cell, err := w.cells.Open(context.Background(), isolate.ContainerKey(unitKey, "web"), spec)
	if err != nil {
		b.Skip(err)
	}
	c.Cell = cell
	c.wantLog("began\n")
	var kib int
	for b.Loop() {
		kib = privateDirty(b, c.Pid())
	}
	b.ReportMetric(float64(kib), "KiB")
}

// benchWorld is a world for a benchmark, whose failures t has.
func benchWorld(b *testing.B, t *testing.T) *world {
	b.Helper()
	self, err := os.Executable()
	if err != nil || os.Geteuid() != 0 {
		b.Skip("workload containers in a unit's network need root: ", err)
	}
	dir := b.TempDir()
	w := &world{t: t, dir: dir, cells: &isolate.Cells{Dir: dir + "/cells", Program: self}}
	b.Cleanup(func() {
		if err := w.cells.Clear(unitKey); err != nil {
			b.Error(err)
		}
	})
	return w
}

// privateDirty is that of a process in KiB.
func privateDirty(tb testing.TB, pid int) (kib int) {
	tb.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
	if err != nil {
		tb.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if f := strings.Fields(line); len(f) > 1 && f[0] == "Private_Dirty:" {
			kib, err = strconv.Atoi(f[1])
		}
	}
	if err != nil {
		tb.Fatal(err)
	}
	return kib
}
