package machine_test

import (
	"os"
	"testing"
	"time"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
	"github.com/unitd/unitd/workload"
)

// noticed has one settled unit with a container, c/0, whose hook runs come out of
// the channel.
type noticed struct {
	*world
	runs <-chan history.Entry
}

func newNoticed(tb testing.TB) noticed {
	tb.Helper()
	if os.Geteuid() != 0 {
		tb.Skip("workload containers need root")
	}
	program := pebbletest.Program(tb)
	runs := make(chan history.Entry, 100)
	w := newWorldWith(tb, func(c *machine.Config) {
		c.Observer = func(e machine.Event) {
			if e.Kind == machine.HookRun {
				runs <- e.Run
			}
		}
		if err := os.Setenv(workload.PebbleVariable, program); err != nil { // the same in all tests
			tb.Error(err)
		}
		cells, err := cellsIn(c.Dir, durable.Disk{})
		if err != nil {
			tb.Error(err)
		}
		c.Cells = cells
	})
	tb.Cleanup(func() {
		w.stop()
		w.clearContainers()
	})
	n := noticed{w, runs}
	w.deployContainer()
	n.next("web-pebble-ready")
	w.settle()
	for len(runs) > 0 {
		<-runs
	}
	return n
}

// next is the next run of a hook.
func (n noticed) next(hook string) history.Entry {
	n.t.Helper()
	for {
		select {
		case e := <-n.runs:
			if e.Name == hook {
				return e
			}
		case <-n.ctx.Done():
			n.t.Fatalf("%s isn't run", hook)
		}
	}
}

// notice is how long it takes from a notice's time in Pebble to the start of its
// hook.
func (n noticed) notice() time.Duration {
	n.t.Helper()
	c := pebble.New(n.pebbleSocket())
	id, err := c.AddNotice(n.ctx, pebble.NewNotice{Key: "example.com/n"})
	if err != nil {
		n.t.Fatal(err)
	}
	e := n.next("web-pebble-custom-notice")
	sent, err := c.Notice(n.ctx, id)
	if err != nil {
		n.t.Fatal(err)
	}
	return e.Started.Sub(sent.LastRepeated)
}

// configured is how long it takes from a change of the model to the start of its
// hook.
func (n noticed) configured(trust bool) time.Duration {
	n.t.Helper()
	began := time.Now()
	if err := n.model.SetTrust(n.ctx, "c", trust); err != nil {
		n.t.Fatal(err)
	}
	return n.next("config-changed").Started.Sub(began)
}

// BenchmarkNoticeToHook is the time from a notice in a workload container to its
// hook's start, as the median; "x-config" is that as a multiple of the time from a
// change of the model to its own hook's.
func BenchmarkNoticeToHook(b *testing.B) {
	n := newNoticed(b)
	var notices, configs []time.Duration
	for i := 0; b.Loop(); i++ {
		notices = append(notices, n.notice())
		configs = append(configs, n.configured(i%2 == 0))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(us(median(notices))/1000, "ms-to-hook")
	b.ReportMetric(us(median(notices))/us(median(configs)), "x-config")
}

// TestHostANoticeIsToldNotMuchLaterThanAChangeOfTheModel: the bound is generous, as
// hosts are busy; the figure is the benchmark's.
func TestHostANoticeIsToldNotMuchLaterThanAChangeOfTheModel(t *testing.T) {
	t.Parallel()
	n := newNoticed(t)
	var notices, configs []time.Duration
	for i := range 8 {
		notices = append(notices, n.notice())
		configs = append(configs, n.configured(i%2 == 0))
	}
	t.Logf("%v of a notice, %v of the model", median(notices), median(configs))
	if x := us(median(notices)) / us(median(configs)); x > 10 {
		t.Errorf("it takes %.1f times as long", x)
	}
}
