package recording

// sequence is what was recorded of one kind, in its order, and how much of it has
// come in a replay.
type sequence[T any] struct {
	recorded []T
	same     func(recorded, actual T) bool
	// window is how many that haven't come yet may be the next one.
	window int

	used  []bool
	next  int // the first that hasn't come
	made  int
	shown map[int]bool // those that a difference was shown beside
}

func newSequence[T any](recorded []T, parallel bool, same func(recorded, actual T) bool) sequence[T] {
	s := sequence[T]{recorded: recorded, same: same, window: 1, used: make([]bool, len(recorded)), shown: map[int]bool{}}
	if parallel {
		s.window = window
	}
	return s
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

// missing are those that haven't come, and that no difference was shown beside.
func (s *sequence[T]) missing() (all []int) {
	for i := range s.recorded {
		if !s.used[i] && !s.shown[i] {
			all = append(all, i)
		}
	}
	return all
}
