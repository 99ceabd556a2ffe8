package telemetry_test

import (
	"context"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
	"github.com/unitd/unitd/telemetry"
)

// BenchmarkTelemetry measures what the meter costs for each hook, with eight hook tool calls
// and eight lines, and for each read of the store.
func BenchmarkTelemetry(b *testing.B) {
	m, err := telemetry.NewMeter(telemetry.Version{}, func(context.Context) (telemetry.Sight, error) { return telemetry.Sight{}, nil })
	if err != nil {
		b.Fatal(err)
	}
	run := machine.Event{Kind: machine.HookRun, Model: "m", Unit: "shop/0", Run: history.Entry{Hook: hooks.Info{Kind: hooks.Start}, Outcome: history.Committed, Duration: time.Second, Calls: make([]history.Call, 8)}}
	line := machine.Event{Kind: machine.LogLine, Model: "m", Unit: "shop/0"}
	b.Run("hook", func(b *testing.B) {
		for b.Loop() {
			m.Observe(run)
			for range 8 {
				m.Observe(line)
			}
		}
	})
	plain := memory.New(clock.WallClock)
	for name, s := range map[string]store.Store{"read=bare": plain, "read=measured": m.Store(plain)} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := s.View(b.Context(), func(store.Reader) error { return nil }); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
