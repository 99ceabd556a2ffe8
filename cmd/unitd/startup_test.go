package main_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/unitd/unitd/testcharms"
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
	return leastOf(tb, least, cmd)
}

func leastOf(tb testing.TB, least time.Duration, cmd *exec.Cmd) time.Duration {
	tb.Helper()
	if err := cmd.Run(); err != nil && cmd.ProcessState == nil {
		tb.Fatal(err)
	}
	used := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if least == 0 || used < least {
		return used
	}
	return least
}

// maxStatus is how many times the processor time of "unitd version" that of a status may
// take, for ten applications whose agent runs. It is 1.05; one that looks for itself takes
// 1.5.
const maxStatus = 1.3

// TestAStatusTakesLittleMoreThanAStart bounds the whole process by one that does nothing,
// in one run.
func TestAStatusTakesLittleMoreThanAStart(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("skipped: elsewhere an agent isn't asked for the status")
	}
	m := newMeasured(t, 10, 1)
	var version, status time.Duration
	more := func() bool { return float64(status) > maxStatus*float64(version) }
	for n := 0; n < 21 || n < 210 && more(); n++ { // by turns, as other processes slow down both
		version, status = m.least(version, "version"), m.least(status, statusArgs...)
	}
	if more() {
		t.Errorf("a status takes %v of the processor, and a start %v: that is more than %v times", status, version, maxStatus)
	}
}

// BenchmarkStatus measures a status as a whole process, beside "unitd version": medians,
// by turns.
func BenchmarkStatus(b *testing.B) {
	sizes := []int{1, 10} // units of each application
	if os.Getenv("UNITD_TEST_LONG") != "" {
		sizes = append(sizes, 100)
	}
	for _, units := range sizes {
		b.Run(fmt.Sprintf("units=%d", 10*units), func(b *testing.B) {
			m := newMeasured(b, 10, units)
			for _, agent := range []string{"runs", "ended"} {
				b.Run("agent="+agent, func(b *testing.B) {
					if agent == "ended" {
						m.run("shutdown")
					}
					for b.Loop() {
						version, status := m.medians(31, []string{"version"}, statusArgs)
						b.ReportMetric(float64(status)/float64(version), "x-start")
						b.ReportMetric(status.Seconds()*1000, "ms-status")
						b.ReportMetric(version.Seconds()*1000, "ms-start")
					}
					b.ReportMetric(0, "ns/op")
				})
			}
		})
	}
}

// measured is a data directory whose agent runs, and has nothing to do.
type measured struct {
	testing.TB
	program string
	env     []string
}

// statusArgs are those of what is measured.
var statusArgs = []string{"status", "--format", "json"}

// newMeasured has so many applications of so many units, whose hooks have run.
func newMeasured(tb testing.TB, applications, units int) *measured {
	tb.Helper()
	bin, err := programs()
	if err != nil {
		tb.Fatal(err)
	}
	data := filepath.Join(tb.TempDir(), "data")
	m := &measured{tb, filepath.Join(bin, "unitd"), append(os.Environ(), "UNITD_DATA="+data, "UNITD_ISOLATE=off")}
	tb.Cleanup(func() { m.run("shutdown") })
	m.run("model-config", "update-status-hook-interval=0")
	for i := range applications {
		m.run("deploy", testcharms.Dir("noop"), fmt.Sprintf("app%d", i), "-n", strconv.Itoa(units))
	}
	m.run("wait", "--timeout", "10m")
	return m
}

func (m *measured) run(args ...string) {
	m.Helper()
	cmd := exec.Command(m.program, args...)
	cmd.Env = m.env
	if out, err := cmd.CombinedOutput(); err != nil {
		m.Fatalf("unitd %v: %v: %s", args, err, out)
	}
}

// least is the processor time of a command, if it is less than what it was.
func (m *measured) least(least time.Duration, args ...string) time.Duration {
	m.Helper()
	cmd := exec.Command(m.program, args...)
	cmd.Env = m.env
	return leastOf(m, least, cmd)
}

// medians are the median times of two commands, by turns, as other processes slow down
// both.
func (m *measured) medians(times int, a, b []string) (time.Duration, time.Duration) {
	m.Helper()
	took := make([][]time.Duration, 2)
	for range times {
		for i, args := range [][]string{a, b} {
			start := time.Now()
			m.run(args...)
			took[i] = append(took[i], time.Since(start))
		}
	}
	for _, all := range took {
		slices.Sort(all)
	}
	return took[0][times/2], took[1][times/2]
}
