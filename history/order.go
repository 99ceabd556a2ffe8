package history

import (
	"slices"
	"time"
)

// Merge is what several units have run, in one list: those of a unit by the
// numbers of their runs, whatever the clock showed, and those of several by when
// they began, as far as that agrees. Each of the units has its entries as Read
// returns them.
func Merge(units ...[]Entry) []Entry {
	var all []placed
	for _, own := range units {
		all = append(all, place(own)...)
	}
	slices.SortStableFunc(all, func(x, y placed) int { return x.at.Compare(y.at) })
	out := make([]Entry, len(all))
	for i, p := range all {
		out[i] = p.Entry
	}
	return out
}

// placed is an entry at a place in time.
type placed struct {
	Entry
	at time.Time
}

// place puts the runs of one unit in their order, and finds a time for each that
// is no later than those after it: a run that seems to have begun after a later
// one began by a clock that was ahead.
func place(own []Entry) []placed {
	own = slices.Clone(own)
	for begin := 0; begin < len(own); {
		end := begin + 1
		for end < len(own) && own[end].ID == own[begin].ID {
			end++ // a later unit of the same name counts from 1 again
		}
		slices.SortStableFunc(own[begin:end], func(x, y Entry) int { return int(x.newest() - y.newest()) })
		begin = end
	}
	out := make([]placed, len(own))
	for i, e := range own {
		// Nobody knows when a run began whose agent was killed.
		if e.Started.IsZero() && i > 0 {
			e.Started = own[i-1].Started.Add(own[i-1].Duration)
			own[i].Started = e.Started
		}
		out[i] = placed{e, e.Started}
	}
	for i := len(out) - 2; i >= 0; i-- {
		if next := out[i+1].at; next.Before(out[i].at) {
			out[i].at = next
		}
	}
	return out
}

// newest is the newest run that had begun when the entry's ended.
func (e Entry) newest() int64 { return max(e.Run, e.Newest) }
