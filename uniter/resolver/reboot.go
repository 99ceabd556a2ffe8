package resolver

import "github.com/unitd/unitd/hooks"

// The causes that tell a run of a hook from others of the same hook, for who
// has only the history: both hooks run once otherwise.
const (
	// CauseRebooted is that of a start that runs again.
	CauseRebooted = "machine rebooted"
	// CauseForgotten is that of the upgrade-charm of a unit whose agent has lost
	// what it had on disk: relations that it is in are told anew.
	CauseForgotten = "what the agent knew of the unit is lost"
)

// rebooted starts what a charm has started before the machine went down. It
// waits for a failed hook to be resolved, and comes between no two hooks that
// belong together. Source: docs/spec/uniter-behaviour.md §4, docs/spec/uniter-facts.md §4.7.
func rebooted(l Local, r Remote) (Op, bool) {
	again := l.Started && !l.Stopped && l.Seen.Boot != "" && r.Want.Boot != "" && l.Seen.Boot != r.Want.Boot
	if !again || l.Charm == "" || l.Upgraded {
		return Op{}, false
	}
	return run(l, r, unitHook(hooks.Start, CauseRebooted))
}
