package recording

import (
	"fmt"

	"github.com/unitd/unitd/history"
)

// kind is what there is a sequence of.
type kind[T any] struct {
	// one names that of a number, many several.
	one, many string
	same      func(recorded, actual T) bool
	// put has a difference show them; nil: there is none.
	put func(d *Difference, actual, recorded *T)
}

// sequence is what was recorded of one kind, in its order, and how much of it has
// come in a replay.
type sequence[T any] struct {
	kind[T]
	recorded []T
	// partial says why some may be missing; empty: all are there.
	partial string
	// window is how many that haven't come yet may be the next one.
	window int

	used  []bool
	next  int // the first that hasn't come
	made  int
	shown map[int]bool // those that a difference was shown beside
}

// newSequence is of what a recording has; cutOff: it may have had more.
func newSequence[T any](k kind[T], r *Recording, recorded []T, parallel, cutOff bool) sequence[T] {
	s := sequence[T]{kind: k, recorded: recorded, window: 1, used: make([]bool, len(recorded)), shown: map[int]bool{}}
	if parallel {
		s.window = window
	}
	switch {
	case cutOff:
		s.partial = fmt.Sprintf("the recording was cut off after %d %s, as it was too large", len(recorded), k.many)
	case r.Outcome == history.Stopped:
		s.partial = fmt.Sprintf("the recorded run was stopped after %d %s", len(recorded), k.many)
	}
	return s
}

// differs is that the one which has just come isn't the recorded one.
func (s *sequence[T]) differs(actual T) Difference {
	d := Difference{ActualNumber: s.made}
	name := fmt.Sprintf(s.one, s.made)
	due, ok := s.due()
	switch {
	case ok:
		d.What, d.RecordedNumber = name+" differs", due+1
		s.put(&d, &actual, &s.recorded[due])
		return d
	case s.partial != "":
		d.What = s.partial + "; the hook goes on"
	default:
		d.What = fmt.Sprintf("%s is not in the recording, which has %d", name, len(s.recorded))
	}
	s.put(&d, &actual, nil)
	return d
}

// find is the recorded one that is due and is the same; -1 if it isn't. Once the
// order is lost any that hasn't come yet will do.
func (s *sequence[T]) find(actual T, lost bool) int {
	left := s.window
	if lost {
		left = len(s.recorded)
	}
	for i := s.next; i < len(s.recorded) && left > 0; i++ {
		if s.used[i] {
			continue
		}
		if s.same(s.recorded[i], actual) {
			return i
		}
		left--
	}
	return -1
}

// findAnywhere is the nearest recorded one that is the same: one that is still to
// come, else the last one that has come.
func (s *sequence[T]) findAnywhere(actual T) int {
	for i := s.next; i < len(s.recorded); i++ {
		if !s.used[i] && s.same(s.recorded[i], actual) {
			return i
		}
	}
	for i := len(s.recorded) - 1; i >= 0; i-- {
		if s.used[i] && s.same(s.recorded[i], actual) {
			return i
		}
	}
	return -1
}

func (s *sequence[T]) use(i int) {
	s.used[i] = true
	for s.next < len(s.used) && s.used[s.next] {
		s.next++
	}
}

// due is the one beside which a difference is shown, from then on with that; false:
// all have come.
func (s *sequence[T]) due() (i int, ok bool) {
	for i = s.next; i < len(s.used); i++ {
		if !s.used[i] && !s.shown[i] {
			s.shown[i] = true
			return i, true
		}
	}
	return 0, false
}

// missing is that some haven't come, beside which no difference was shown; nothing, if
// nobody knows which there were.
func (s *sequence[T]) missing() (all []Difference) {
	for i := range s.recorded {
		if s.partial == "" && !s.used[i] && !s.shown[i] {
			d := Difference{What: "recorded " + fmt.Sprintf(s.one, i+1) + " was not made", RecordedNumber: i + 1}
			s.put(&d, nil, &s.recorded[i])
			all = append(all, d)
		}
	}
	return all
}
