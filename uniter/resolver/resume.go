package resolver

import (
	"slices"
	"time"
)

// Resume is what an agent knows when it starts: l as its journal has it, and
// the charm that lies in the charm directory (empty: none). Where the two
// differ, the agent was killed between a deployment and its record, or the
// directory was lost. l is not changed.
func Resume(l Local, deployed string, at time.Time) Local {
	l = l.At(at)
	if l.Charm == deployed {
		return l
	}
	if deployed == "" {
		l.Charm = ""
		return l
	}
	// No charm is deployed while a run is pending: this one had committed, and
	// only its record is missing.
	l = taskEnded(l, EndedCommitted, "")
	if l.Current != nil && l.Current.Step == Pending {
		l = committed(l, *l.Current, Event{Kind: Done, At: at})
	}
	return After(l, Op{Verb: Deploy, Charm: deployed}, Event{Kind: Done, At: at})
}

// At is what is remembered as of a time of this host's clock, which may have been
// ahead, or behind, when it was written down: nothing is waited for longer than
// it would have been from then on, and what was done was done by now. As the
// times are made of the one that is given, what has passed is counted from now on,
// and not what the clock shows. l is not changed.
func (l Local) At(now time.Time) Local {
	l = l.clone()
	if c := l.Current; c != nil && !c.RetryAt.IsZero() {
		most := backOff(c.Attempts)
		c.RetryAt = until(c.RetryAt, now, most+time.Duration(RetrySpread*float64(most)))
	}
	if !l.StatusAt.IsZero() {
		l.StatusAt = until(l.StatusAt, now, 0)
	}
	for id, s := range l.Secrets {
		l.Secrets[id] = s.asOf(now)
	}
	l.Workloads = workloadsAt(l.Workloads, now)
	l.Again = slices.Clone(l.Again)
	for i, a := range l.Again {
		if a.Wait > 0 {
			l.Again[i].At = until(a.At, now, a.Wait)
		}
	}
	return l
}

// until is a date counted from now, which is no more than most after it.
func until(at, now time.Time, most time.Duration) time.Time {
	return now.Add(min(at.Round(0).Sub(now.Round(0)), most))
}
