package pebble_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/pebble/pebbletest"
)

// BenchmarkSystemInfo is the smallest call, with the connection that it makes.
func BenchmarkSystemInfo(b *testing.B) {
	_, c := start(b, pebbletest.Options{})
	for b.Loop() {
		if _, err := c.SystemInfo(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkNoticeToReport is from a notice's time in Pebble to the watcher's
// report, as the median.
func BenchmarkNoticeToReport(b *testing.B) {
	p, c := start(b, pebbletest.Options{})
	w := watch(b, p.Socket, time.Time{})
	w.answers()
	var took []time.Duration
	for i := 0; b.Loop(); i++ {
		key := fmt.Sprintf("example.com/n%d", i)
		if _, err := c.AddNotice(b.Context(), pebble.NewNotice{Key: key}); err != nil {
			b.Fatal(err)
		}
		s := w.until(key, func(s pebble.State) bool { return len(s.Events) > 0 && s.Events[len(s.Events)-1].Key == key })
		e := s.Events[len(s.Events)-1]
		took = append(took, time.Since(e.LastRepeated))
		w.after.Store(&e.LastRepeated)
	}
	report(b, took, "to-report")
}

// BenchmarkStartToReport is from the start of Pebble's process to the report of
// its boot id; "listens" is when a loop that does nothing else can connect.
func BenchmarkStartToReport(b *testing.B) {
	var answered, listens []time.Duration
	for b.Loop() {
		p := pebbletest.New(b, pebbletest.Options{})
		w := watch(b, p.Socket, time.Time{})
		began := time.Now()
		if err := p.Run(); err != nil { // until somebody listens
			b.Fatal(err)
		}
		listens = append(listens, time.Since(began))
		w.answers()
		answered = append(answered, time.Since(began))
		w.end()
		_ = p.Stop()
	}
	report(b, listens, "listens")
	report(b, answered, "reported")
}

func report(b *testing.B, took []time.Duration, what string) {
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "ms-"+what)
}
