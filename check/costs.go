package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
)

// Cost is what the runs of a hook have cost that have succeeded.
type Cost struct {
	Hook string `json:"hook"`
	// Runs is how many there were.
	Runs int `json:"runs"`
	// Usual is the median of how long they took by this host's clock, Longest the longest of them.
	Usual   time.Duration `json:"usual"`
	Longest time.Duration `json:"longest"`
	// Calls is the median of how many hook tools they called, Most the most of them.
	Calls int `json:"calls"`
	Most  int `json:"most"`
}

// costs are what runs of hooks have cost, by the names of the hooks.
type costs map[string]*spent

// spent are durations and numbers of calls, run by run.
type spent struct {
	Took  []time.Duration `json:"took"`
	Calls []int           `json:"calls"`
}

// maxCosts bounds the runs of a hook that are noted.
const maxCosts = 500

// note notes a run that has succeeded.
func (c costs) note(run history.Entry) {
	if run.Outcome == history.Committed && !run.Missing {
		c.add(run.Name, spent{[]time.Duration{run.Took}, []int{run.Tools}})
	}
}

func (c costs) add(hook string, more spent) {
	if c[hook] == nil {
		c[hook] = &spent{}
	}
	s := c[hook]
	if len(s.Took) < maxCosts {
		s.Took, s.Calls = append(s.Took, more.Took...), append(s.Calls, more.Calls...)
	}
}

// take adds what others have cost.
func (c costs) take(from costs) {
	for hook, s := range from {
		if s != nil && len(s.Took) > 0 && len(s.Took) == len(s.Calls) { // as one that is read from a file may not be
			c.add(hook, *s)
		}
	}
}

// slow is how long a hook takes that is suspected of waiting for something.
const slow = 10 * time.Second

// suspect has it tried next whether hooks wait, once one has taken long: scenarios take long
// then, so those at the end of the queue would never have their turn. Its caller holds mu.
func (c *search) suspect() {
	if c.suspected || !c.looks.costs.slow() {
		return
	}
	c.suspected = true
	slices.SortStableFunc(c.queue, func(a, b probe) int {
		first := func(p probe) int {
			if p.promise == Frugal && slices.Contains(p.lines(), "took "+longHook) {
				return 0
			}
			return 1
		}
		return first(a) - first(b)
	})
}

// slow says whether a hook has taken long that hasn't software to install.
func (c costs) slow() bool {
	for hook, s := range c {
		if hook != string(hooks.Install) && hook != string(hooks.UpgradeCharm) && slices.Max(s.Took) > slow {
			return true
		}
	}
	return false
}

// all are the costs of all hooks, by their names.
func (c costs) all() (out []Cost) {
	for _, hook := range slices.Sorted(maps.Keys(c)) {
		s := c[hook]
		slices.Sort(s.Took)
		slices.Sort(s.Calls)
		n := len(s.Took)
		out = append(out, Cost{Hook: hook, Runs: n, Usual: s.Took[n/2], Longest: s.Took[n-1], Calls: s.Calls[n/2], Most: s.Calls[n-1]})
	}
	return out
}

// costliest is how many hooks the report for people names as the costliest.
const costliest = 3

// Outlier says that one run took so much longer than usual that it is worth a look.
func (c Cost) Outlier() bool { return c.Longest > 5*c.Usual && c.Longest > c.Usual+2*time.Second }

// longest are the hooks that take longest, in words.
func longest(all []Cost) (out []string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Cost) int { return cmp.Compare(b.Usual, a.Usual) })
	for i, c := range all {
		switch text := fmt.Sprintf("%s %s", c.Hook, seconds(c.Usual)); {
		case c.Outlier():
			out = append(out, fmt.Sprintf("%s (once %s)", text, seconds(c.Longest)))
		case i < costliest:
			out = append(out, text)
		}
	}
	return out
}

// mostCalls are the hooks that call most hook tools, in words.
func mostCalls(all []Cost) (out []string) {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Cost) int { return cmp.Compare(b.Most, a.Most) })
	for _, c := range all[:min(costliest, len(all))] {
		out = append(out, fmt.Sprintf("%s %d", c.Hook, c.Most))
	}
	return out
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1fs", d.Seconds()) }
