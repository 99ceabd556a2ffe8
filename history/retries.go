package history

// Retries tell which runs repeat one that has failed: those of the same hook, right after it. The
// zero value knows no run; a key K names a unit.
type Retries[K comparable] struct {
	failed map[K]string // the hook of each whose last run has failed
}

// Again says whether a run of a unit repeats one that has failed. It is to be told of all runs of
// the unit, in their order.
func (r *Retries[K]) Again(unit K, e Entry) bool {
	again := e.Name != "" && r.failed[unit] == e.Name
	delete(r.failed, unit)
	if e.Outcome == Failed || e.Outcome == Interrupted {
		if r.failed == nil {
			r.failed = map[K]string{}
		}
		r.failed[unit] = e.Name
	}
	return again
}
