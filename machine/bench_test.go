package machine_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/testcharms"
)

// idleWorld has one settled unit, noop/0, whose hook runs come out of the
// channel.
func idleWorld(b *testing.B) (*world, <-chan history.Entry) {
	runs := make(chan history.Entry, 100)
	w := newWorldWith(b, func(c *machine.Config) {
		c.Observer = func(e machine.Event) {
			if e.Kind == machine.HookRun {
				runs <- e.Run
			}
		}
	})
	w.deploy("noop", w.add(testcharms.Dir("noop")), 1)
	w.settle()
	for len(runs) > 0 {
		<-runs
	}
	return w, runs
}

// change changes what the unit's next config-changed is about.
func (w *world) change(n int) {
	if err := w.model.SetConfig(w.ctx, "noop", map[string]string{"anything": strconv.Itoa(n)}, nil); err != nil {
		w.t.Fatal(err)
	}
}

// BenchmarkNoopHook measures a hook that does nothing, from the commit of the
// change that it is about to its end, journal and commit included. In the same
// run, turn by turn, it measures what that cannot be done without: fork, exec
// and wait of the same script, and the two durable writes that a hook needs.
// The ratio of the medians is "x-bare"; "us-over-exec" is what the hook takes
// longer than fork, exec and wait alone.
func BenchmarkNoopHook(b *testing.B) {
	w, runs := idleWorld(b)
	script := testcharms.Dir("noop") + "/noop.sh"
	file, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	defer file.Close()
	var agent, bare, alone []time.Duration
	for i := 0; b.Loop(); i++ {
		w.change(i)
		start := time.Now()
		<-runs
		agent = append(agent, time.Since(start))

		start = time.Now()
		write(b, file)
		begun := time.Now()
		if err := exec.Command(script).Run(); err != nil {
			b.Fatal(err)
		}
		alone = append(alone, time.Since(begun))
		write(b, file)
		bare = append(bare, time.Since(start))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(median(agent)), "us-hook")
	b.ReportMetric(us(median(bare)), "us-bare")
	b.ReportMetric(us(median(agent))/us(median(bare)), "x-bare")
	b.ReportMetric(us(median(agent)-median(alone)), "us-over-exec")
}

// write is one durable write.
func write(b *testing.B, f *os.File) {
	if _, err := f.WriteAt(make([]byte, 1024), 0); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func us(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }

// BenchmarkCommitToDecision measures how long it takes from a commit in one
// process until the agent in another one has decided on the hook that follows,
// and begun it.
func BenchmarkCommitToDecision(b *testing.B) {
	w, runs := idleWorld(b)
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), committerVariable+"="+filepath.Join(w.dir, "store.db"))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			b.Error(err)
		}
	}()
	lines := bufio.NewReader(out)
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		if _, err := fmt.Fprintln(in, i); err != nil {
			b.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			b.Fatal(err)
		}
		at, err := strconv.ParseInt(strings.TrimSpace(line), 10, 64)
		if err != nil {
			b.Fatal(err)
		}
		took = append(took, (<-runs).Started.Sub(time.Unix(0, at)))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(median(took)), "us-median")
	b.ReportMetric(us(took[len(took)*99/100]), "us-p99")
}

// committerVariable makes a test binary the other process of
// BenchmarkCommitToDecision; it has the path of the store.
const committerVariable = "UNITD_TEST_COMMITTER"

// commitFor commits a change for each line of input, and prints when it has.
func commitFor(path string, in io.Reader, out io.Writer) error {
	s, err := etcdtest.Reopen(path)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, cancel := testContext()
	defer cancel()
	m, err := state.NewController(s, clock.WallClock).Model(ctx, "test")
	if err != nil {
		return err
	}
	for lines := bufio.NewScanner(in); lines.Scan(); {
		if err := m.SetConfig(ctx, "noop", map[string]string{"anything": lines.Text()}, nil); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(out, time.Now().UnixNano()); err != nil {
			return err
		}
	}
	return nil
}
