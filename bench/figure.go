package bench

import (
	"slices"
	"time"
)

// Figure is one thing that was measured beside its floor. Both are medians of
// the same number of measurements.
type Figure struct {
	// Name is the one by which people ask for it, with "-cpu" behind it where it is
	// processor time.
	Name string
	// What was measured, and Floor beside what, for people.
	What, Floor string
	Took, Least time.Duration
	// Count is how many measurements each is the median of.
	Count int
	// Hooks is how many hooks one of them is about; 0: it isn't about several.
	Hooks int
}

// Ratio is how many times its floor the figure is.
func (f Figure) Ratio() float64 { return float64(f.Took) / float64(max(f.Least, 1)) }

// Report is what one run has measured, and where.
type Report struct {
	// System is the operating system with the processor's kind, "linux/amd64".
	System     string
	Processors int
	// Files is where the files were, and FileSystem of which kind that is; empty: it
	// can't be told.
	Files, FileSystem string
	Figures           []Figure
}

// Volatile says whether the files were in memory, where a durable write costs
// nothing.
func (r Report) Volatile() bool { return slices.Contains([]string{"tmpfs", "ramfs"}, r.FileSystem) }

// median is the middle one; the slice is in order afterwards.
func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// pairs are the measurements of a figure and of its floor.
type pairs struct{ took, least []time.Duration }

func (p *pairs) add(took, least time.Duration) {
	p.took, p.least = append(p.took, took), append(p.least, least)
}

// turn measures one after the other, and adds both.
func (p *pairs) turn(what, floor func() error) error {
	began := time.Now()
	if err := what(); err != nil {
		return err
	}
	between := time.Now()
	if err := floor(); err != nil {
		return err
	}
	p.add(between.Sub(began), time.Since(between))
	return nil
}

// figure is f with the medians.
func (p *pairs) figure(f Figure) Figure {
	f.Took, f.Least, f.Count = median(p.took), median(p.least), len(p.took)
	return f
}
