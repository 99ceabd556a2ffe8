package testcharms_test

import (
	"context"
	"testing"
	"time"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/telemetry"
	"github.com/unitd/unitd/telemetry/collector"
	"github.com/unitd/unitd/testcharms"
)

// BenchmarkTracedHook compares a hook that does nothing, from the commit that causes it to
// its own commit, with the same in an agent that measures itself and its store, and sends
// traces, metrics and logs to a collector. They are measured by turns.
func BenchmarkTracedHook(b *testing.B) {
	sender, err := telemetry.OTLP{Endpoint: collector.New(b).URL}.Start(telemetry.Version{}, "host", "id", func(err error) { b.Error(err) })
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(sender.End)
	meter, err := telemetry.NewMeter(telemetry.Version{}, func(context.Context) (telemetry.Sight, error) { return telemetry.Sight{}, nil }, sender.Metrics...)
	if err != nil {
		b.Fatal(err)
	}
	charm := testcharms.Copy(b, "noop")
	plain := newIdleUnit(newWorld(b), charm)
	traced := newIdleUnit(newWorldWith(b, func(c *machine.Config) {
		c.Controller = c.Controller.Through(meter.Store(c.Controller.Store()))
		c.Tracer, c.Observer = sender.Tracer, func(e machine.Event) {
			meter.Observe(e)
			sender.Observe(e)
		}
	}), charm)
	var plains, traceds []time.Duration
	for i := 1; b.Loop(); i++ {
		plains, traceds = append(plains, plain.run("anything", i)), append(traceds, traced.run("anything", i))
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(middle(plains), "ms-plain")
	b.ReportMetric(middle(traceds), "ms-traced")
	b.ReportMetric(middle(traceds)/middle(plains), "x-traced")
}
