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

// BenchmarkIdleUnits measures what an agent process with 200 units takes while
// none has anything to do: memory, and processor time over a while. The hooks
// of the charm do nothing, and update-status is off for that while, or it would
// be what is measured.
func BenchmarkIdleUnits(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("skipped: what a process takes is read from /proc")
	}
	const units, window = 200, 10 * time.Second
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	data := filepath.Join(b.TempDir(), "data")
	unitd := func(args ...string) {
		b.Helper()
		cmd := exec.Command(filepath.Join(bin, "unitd"), args...)
		cmd.Env = append(os.Environ(), "UNITD_DATA="+data)
		if out, err := cmd.CombinedOutput(); err != nil {
			b.Fatalf("unitd %s: %v: %s", args[0], err, out)
		}
	}
	b.Cleanup(func() { unitd("shutdown") }) // also after a failure
	for b.Loop() {
		unitd("model-config", "update-status-hook-interval=0")
		unitd("deploy", testcharms.Dir("noop"), "-n", strconv.Itoa(units))
		start := time.Now()
		unitd("wait", "--timeout", "5m")
		booted := time.Since(start)
		pid, err := os.ReadFile(filepath.Join(data, "agent.lock"))
		if err != nil {
			b.Fatal(err)
		}
		proc := filepath.Join("/proc", strings.TrimSpace(string(pid)))
		before := cpuTime(b, proc)
		// Not a wait for anything: this is the time that is measured.
		time.Sleep(window)
		used := cpuTime(b, proc) - before
		b.ReportMetric(0, "ns/op")
		b.ReportMetric(memory(b, proc, "VmRSS"), "MB-resident")
		b.ReportMetric(memory(b, proc, "VmHWM"), "MB-peak")
		b.ReportMetric(100*used.Seconds()/window.Seconds(), "%-of-a-core")
		b.ReportMetric(booted.Seconds(), "s-to-settle")
		unitd("shutdown")
		if err := os.RemoveAll(data); err != nil {
			b.Fatal(err)
		}
	}
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
