package resolver

import "time"

// Resume is what an agent knows when it starts: l as its journal has it, and
// the charm that lies in the charm directory (empty: none). Where the two
// differ, the agent was killed between a deployment and its record, or the
// directory was lost. l is not changed.
func Resume(l Local, deployed string, at time.Time) Local {
	l = l.clone()
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
