package scale

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Figures are what a simulation has measured, of the units that were awake:
// from their deployment until no agent had anything to do.
type Figures struct {
	Shape
	// Measured is how many units were awake.
	Measured int
	// Settled is how much of the simulated time went by.
	Settled time.Duration
	// Hooks are the runs that have committed.
	Hooks int64
	// All is what was asked of the store, Looking the part of it by which agents
	// look at the model.
	All, Looking Traffic
	// Looks are the times that a unit's agent has looked, each a read of all that
	// it decides by; Vain those of an idle one that then had nothing to do.
	Looks, Vain int64
	// Woken are the units that were told to look, summed up over all commits.
	Woken int64
	// Followed are the agents that were told of a commit, summed up over all commits.
	Followed int64
	// Keys and Bytes is what the store has of them, without what an engine needs
	// to find them; Kinds has the bytes by what the keys are of.
	Keys, Bytes int64
	Kinds       map[string]int64
	// KeyBytes are those of the keys alone.
	KeyBytes int64
	// Largest is the largest value, in bytes, and of which key.
	Largest    int
	LargestKey string
	// Hot is, by kind of key, how often the one was written that was written most
	// often, of those that units share.
	Hot map[string]int64
}

// per is a total for each unit.
func (f *Figures) per(total int64) float64 { return float64(total) / float64(f.Measured) }

// Transactions are those that wrote, for each unit.
func (f *Figures) Transactions() float64 { return f.per(f.All.Updates) }

// ReadsPerLook are the questions to the store for each look that was made.
func (f *Figures) ReadsPerLook() float64 {
	return float64(f.Looking.Reads) / float64(f.Looks)
}

// Told is how many agents are told of a commit: those whose units it concerns.
func (f *Figures) Told() float64 { return float64(f.Followed) / float64(f.All.Updates) }

// Write writes the figures for people, one a line.
func (f *Figures) Write(w io.Writer) error {
	perUnit := func(n int64) string { return fmt.Sprintf("%.1f a unit", f.per(n)) }
	rows := [][2]string{
		{"units", fmt.Sprintf("%d on %d machines in %d applications; %d measured", f.Units, f.Machines, f.Applications, f.Measured)},
		{"settled after", fmt.Sprintf("%v of simulated time", f.Settled.Round(time.Second))},
		{"hooks", perUnit(f.Hooks)},
		{"transactions", fmt.Sprintf("%s, %.2f a hook; %s relaxed", perUnit(f.All.Updates), float64(f.All.Updates)/float64(f.Hooks), perUnit(f.All.Relaxed))},
		{"keys written", perUnit(f.All.Puts)},
		{"bytes written", perUnit(f.All.Bytes)},
		{"keys stored", perUnit(f.Keys)},
		{"bytes stored", fmt.Sprintf("%s, of them in keys %.1f", perUnit(f.Bytes), f.per(f.KeyBytes))},
		{"largest value", fmt.Sprintf("%d bytes, of %s", f.Largest, f.LargestKey)},
		{"looks", fmt.Sprintf("%s, of them in vain %s", perUnit(f.Looks), perUnit(f.Vain))},
		{"reads a look", fmt.Sprintf("%.1f, which return %.1f keys", f.ReadsPerLook(), float64(f.Looking.Keys)/float64(f.Looks))},
		{"units told to look", fmt.Sprintf("%.2f a transaction", float64(f.Woken)/float64(f.All.Updates))},
		{"agents told", fmt.Sprintf("%.2f a transaction, of %d", f.Told(), f.Machines)},
	}
	for _, kind := range slices.SortedFunc(maps.Keys(f.Kinds), func(a, b string) int { return int(f.Kinds[b] - f.Kinds[a]) })[:min(6, len(f.Kinds))] {
		rows = append(rows, [2]string{"bytes of " + kind, perUnit(f.Kinds[kind])})
	}
	for _, kind := range slices.Sorted(maps.Keys(f.Hot)) {
		rows = append(rows, [2]string{"writes of one " + kind, fmt.Sprint(f.Hot[kind], " at most")})
	}
	for _, row := range rows {
		if _, err := fmt.Fprintf(w, "%-24s %s\n", row[0], row[1]); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// stored fills in what is in the store beyond what was there before.
func (f *Figures) stored(ctx context.Context, s store.Store, before map[string]int64) error {
	f.Kinds = map[string]int64{}
	_, err := s.View(ctx, func(r store.Reader) error {
		after := ""
		for {
			page, err := r.Page("", after, 10_000)
			if err != nil || len(page) == 0 {
				return errors.Trace(err)
			}
			for _, kv := range page {
				size := len(kv.Key) + len(kv.Value)
				f.Kinds[kindOf(kv.Key)] += int64(size)
				f.Bytes += int64(size)
				f.KeyBytes += int64(len(kv.Key))
				f.Keys++
				if len(kv.Value) > f.Largest {
					f.Largest, f.LargestKey = len(kv.Value), kindOf(kv.Key)
				}
			}
			after = page[len(page)-1].Key
		}
	})
	for kind, n := range before {
		f.Kinds[kind] -= n
	}
	return errors.Trace(err)
}
