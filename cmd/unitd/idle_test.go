package main_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/testcharms"
)

// BenchmarkIdleUnits measures what an agent process with many units takes: until they
// have come, while none has anything to do, while update-status comes by its default
// interval, when the agent starts again, and until they are gone. The hooks of the charm
// do nothing. With UNITD_TEST_LONG there are 100 and 10,000 units, of ten applications.
func BenchmarkIdleUnits(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("skipped: what a process takes is read from /proc")
	}
	sizes, window := []int{100}, 2*time.Second
	if os.Getenv("UNITD_TEST_LONG") != "" {
		sizes, window = []int{100, 10_000}, 2*time.Minute
	}
	for _, units := range sizes {
		b.Run(fmt.Sprintf("units=%d", units), func(b *testing.B) {
			for b.Loop() {
				idleUnits(b, units, window)
			}
			b.ReportMetric(0, "ns/op")
		})
	}
}

// idleUnits is BenchmarkIdleUnits with so many units, which are watched for that long.
func idleUnits(b *testing.B, units int, window time.Duration) {
	const applications = 10
	data := filepath.Join(b.TempDir(), "data")
	unitd := commands(b, data)
	b.Cleanup(func() { unitd("shutdown") }) // also after a failure
	settled := func() time.Duration {
		began := time.Now()
		unitd("wait", "--timeout", "60m")
		return time.Since(began)
	}
	each := func(what string, took, used time.Duration) {
		b.ReportMetric(took.Seconds()*1000/float64(units), "ms-"+what+"-each")
		b.ReportMetric(used.Seconds()*1000/float64(units), "cpu-ms-"+what+"-each")
	}

	unitd("model-config", "update-status-hook-interval=0")
	began := time.Now()
	for i := range applications {
		unitd("deploy", testcharms.Dir("noop"), fmt.Sprintf("app%d", i), "-n", strconv.Itoa(units/applications))
	}
	settled()
	proc := agentProc(b, data)
	each("deploy", time.Since(began), cpuTime(b, proc))
	b.ReportMetric(memory(b, proc, "VmHWM"), "MB-peak")

	b.ReportMetric(share(b, proc, window), "%-of-a-core")
	b.ReportMetric(memory(b, proc, "VmRSS"), "MB-resident")
	unitd("model-config", "--reset", "update-status-hook-interval")
	b.ReportMetric(share(b, proc, window), "%-with-update-status")
	b.ReportMetric(100*bareProcess(b).Seconds()*float64(units)/(5*time.Minute).Seconds(), "%-of-as-many-bare")
	unitd("model-config", "update-status-hook-interval=0")
	settled()

	unitd("shutdown")
	b.ReportMetric(settled().Seconds(), "s-to-restart") // it starts the agent
	proc = agentProc(b, data)
	b.ReportMetric(memory(b, proc, "VmRSS"), "MB-restarted")
	before := cpuTime(b, proc)
	began = time.Now()
	for i := range applications {
		unitd("remove-application", "--no-prompt", fmt.Sprintf("app%d", i))
	}
	settled()
	each("remove", time.Since(began), cpuTime(b, proc)-before)
	unitd("shutdown")
	if err := os.RemoveAll(data); err != nil {
		b.Fatal(err)
	}
}

// commands runs the command line in a data directory.
func commands(b *testing.B, data string) func(args ...string) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	return func(args ...string) {
		b.Helper()
		cmd := exec.Command(filepath.Join(bin, "unitd"), args...)
		cmd.Env = append(os.Environ(), "UNITD_DATA="+data)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("unitd %s: %v: %s", args[0], err, out)
		}
	}
}

// agentProc is where the kernel says what the agent of a data directory takes.
func agentProc(b *testing.B, data string) string {
	pid, err := os.ReadFile(filepath.Join(data, "agent.lock"))
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join("/proc", strings.TrimSpace(string(pid)))
}

// share is how much of a core a process uses, in percent, over a while: that isn't a
// wait for anything, but what is measured.
func share(b *testing.B, proc string, window time.Duration) float64 {
	before := cpuTime(b, proc)
	time.Sleep(window)
	return 100 * (cpuTime(b, proc) - before).Seconds() / window.Seconds()
}

// bareProcess is the processor time of one of the charm's hooks alone.
func bareProcess(b *testing.B) time.Duration {
	const many = 200
	var used time.Duration
	for range many {
		cmd := exec.Command(filepath.Join(testcharms.Dir("noop"), "noop.sh"))
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		used += cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return used / many
}

// cpuTime is the processor time that a process has used. The kernel counts it
// in ticks of 10 ms.
func cpuTime(b *testing.B, proc string) time.Duration {
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		b.Fatal(err)
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:]))
	var ticks time.Duration
	for _, f := range fields[11:13] { // user and system
		n, err := strconv.Atoi(f)
		if err != nil {
			b.Fatal(err)
		}
		ticks += time.Duration(n)
	}
	return ticks * 10 * time.Millisecond
}

// memory is a line of a process's status, in megabytes.
func memory(b *testing.B, proc, line string) float64 {
	status, err := os.ReadFile(filepath.Join(proc, "status"))
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(status), line+":")
	var kb float64
	if _, err := fmt.Sscan(rest, &kb); err != nil {
		b.Fatal(err)
	}
	return kb / 1024
}
