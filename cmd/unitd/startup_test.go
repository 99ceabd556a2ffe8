package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// maxStart is how many times the processor time of a small program of Go a start of
// unitd may take: it was 13 when each start compiled what no command used, and is 7.
const maxStart = 10

// TestAStartCompilesAndBuildsLittle bounds the start of the program by that of the hook
// tools' client, in one run.
func TestAStartCompilesAndBuildsLittle(t *testing.T) {
	t.Parallel()
	bin, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	var small, whole time.Duration
	for range 15 { // by turns, as other processes slow down both
		small = leastTime(t, small, filepath.Join(bin, "unitd-hooktool"), "is-leader")
		whole = leastTime(t, whole, filepath.Join(bin, "unitd"), "version")
	}
	if whole > maxStart*small {
		t.Errorf("unitd version takes %v of the processor, and a small program %v: that is more than %d times", whole, small, maxStart)
	}
}

// BenchmarkStart measures what a start takes: the least of what was seen.
func BenchmarkStart(b *testing.B) {
	bin, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	var least time.Duration
	for b.Loop() {
		least = leastTime(b, least, filepath.Join(bin, "unitd"), "version")
	}
	b.ReportMetric(least.Seconds()*1000, "cpu-ms/start")
}

// leastTime is the processor time of a program, if it is less than what it was.
func leastTime(tb testing.TB, least time.Duration, program string, args ...string) time.Duration {
	tb.Helper()
	cmd := exec.Command(program, args...)
	cmd.Env = []string{"HOME=" + os.TempDir()}
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatal(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if least == 0 || used < least {
		return used
	}
	return least
}
