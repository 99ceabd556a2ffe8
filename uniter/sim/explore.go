package sim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/uniter/resolver"
)

// Actor does its Steps, each a line for World.Act, in their order and at any
// time. A step that can't happen when its turn comes is left out.
type Actor struct {
	Name  string
	Steps []string
}

// Config is what is explored.
type Config struct {
	Name  string
	Start World
	// Actors act besides the agent.
	Actors []Actor
	// Failures, Kills and Stops are how often a hook may fail, and the agent be
	// killed or stopped, in one history.
	Failures, Kills, Stops int
	// States is the most to look at; 0: a million.
	States int
}

// Result is what was found.
type Result struct {
	// States and Moves were looked at; Rests are the states where the agent has
	// nothing to do.
	States, Moves, Rests int
	// Fault is the first guarantee found broken, by a shortest history; nil:
	// none is. It is a *Broken, or says that the world is too large.
	Fault error
	// Trace is what happened until then, a line each.
	Trace []string
}

// node is a state with what may still happen, and how it was come by.
type node struct {
	world World
	at    []int // next step of each actor
	left  [3]int
	from  int
	move  string
	// onward is the state after the agent's own next move if all goes well; -1:
	// the agent is at rest.
	onward int
}

const (
	failures = iota
	kills
	stops
)

type explorer struct {
	Config
	nodes  []*node
	byKey  map[[16]byte]int // by the hash of its key: the keys of a million states are a gigabyte
	key    traits           // of the state that was looked at last
	next   node             // what the move that is tried makes of a state
	result Result
}

// Explore looks at every history of the world and stops at the first fault. If
// there is none, it makes sure that the agent comes to rest from every state,
// and has then told its charm of all that is.
func Explore(c Config) Result {
	if c.States == 0 {
		c.States = 1_000_000
	}
	x := &explorer{Config: c, byKey: map[[16]byte]int{}}
	x.reach(-1, "", &node{world: c.Start, at: make([]int, len(c.Actors)), left: [3]int{c.Failures, c.Kills, c.Stops}}, nil)
	for i := 0; i < len(x.nodes) && x.result.Fault == nil; i++ {
		x.actors(i)
		x.operator(i)
		x.agent(i)
		if len(x.nodes) > c.States {
			x.fault(i, "", errors.QuotaLimitExceededf("world %q of more than %d states", c.Name, c.States))
		}
	}
	x.result.States = len(x.nodes)
	x.settle()
	return x.result
}

// try is a copy of a state to try a move on, which is there until the next try.
func (x *explorer) try(i int) *node {
	x.next = *x.nodes[i]
	return &x.next
}

// reach notes a state that a move from another led to, unless something broke
// on the way, and returns its number.
func (x *explorer) reach(from int, move string, n *node, err error) int {
	x.result.Moves++
	if err != nil {
		x.fault(from, move, err)
		return from
	}
	key := n.hash(&x.key)
	if i, ok := x.byKey[key]; ok {
		return i
	}
	kept := new(node)
	*kept = *n
	kept.from, kept.move, kept.onward = from, move, -1
	x.nodes = append(x.nodes, kept)
	x.byKey[key] = len(x.nodes) - 1
	return len(x.nodes) - 1
}

func (x *explorer) fault(from int, move string, err error) {
	if x.result.Fault != nil {
		return
	}
	x.result.Fault = err
	if move != "" {
		x.result.Trace = []string{move}
	}
	for ; from > 0; from = x.nodes[from].from {
		x.result.Trace = append(x.result.Trace, x.nodes[from].move)
	}
	slices.Reverse(x.result.Trace)
}

// actors lets each actor do its next step.
func (x *explorer) actors(i int) {
	for a, actor := range x.Actors {
		if x.nodes[i].at[a] == len(actor.Steps) {
			continue
		}
		n := x.try(i)
		step := actor.Steps[n.at[a]]
		n.at = slices.Clone(n.at)
		n.at[a]++
		_, err := n.world.Act(step)
		x.reach(i, actor.Name+": "+step, n, err)
	}
}

// operator answers a failed run in both ways.
func (x *explorer) operator(i int) {
	if !x.nodes[i].world.waits() {
		return
	}
	for _, answer := range []string{"resolved", "resolved-no-retry"} {
		n := x.try(i)
		if ok, err := n.world.Act(answer); ok || err != nil {
			x.reach(i, "operator: "+answer, n, err)
		}
	}
}

// agent lets the agent decide, or do what it has decided in each way that it
// may end.
func (x *explorer) agent(i int) {
	if n := x.try(i); !n.world.Busy() {
		op := n.world.Decide()
		if atRest(op) {
			x.result.Rests++
			return
		}
		onward := x.reach(i, "agent: decides to "+name(op), n, nil)
		x.nodes[i].onward = onward
		return
	}
	op := x.nodes[i].world.hand
	for _, way := range []struct {
		how    How
		budget int
	}{{Well, -1}, {Badly, failures}, {Overdue, failures}, {KilledWithin, kills}, {KilledAfter, kills}, {StoppedAgent, stops}, {StoppedAtCommit, stops}} {
		n := x.try(i)
		if way.budget >= 0 {
			if n.left[way.budget] == 0 || op.Verb != resolver.RunHook && op.Verb != resolver.RunTask && way.how != KilledAfter {
				continue
			}
			if way.how == Overdue && op.Limit == 0 {
				continue
			}
			n.left[way.budget]--
		}
		err := n.world.Do(way.how)
		reached := x.reach(i, fmt.Sprintf("agent: %s ends %s", name(op), way.how), n, err)
		if way.how == Well {
			x.nodes[i].onward = reached
		}
	}
}

func name(op resolver.Op) string {
	if op.Verb == resolver.RunHook || op.Verb == resolver.RunTask {
		return "run " + op.Hook.String()
	}
	return string(op.Verb)
}

// settle looks for states from which the agent goes on for ever by itself, and
// for states at rest where the charm was not told of something.
func (x *explorer) settle() {
	const (
		unknown = iota
		onPath
		rests
	)
	mark := make([]uint8, len(x.nodes))
	for start := range x.nodes {
		if x.result.Fault != nil {
			return
		}
		var path []int
		at := start
		for at >= 0 && mark[at] == unknown {
			mark[at] = onPath
			path = append(path, at)
			at = x.nodes[at].onward
		}
		switch {
		case at >= 0 && mark[at] == onPath:
			x.fault(at, "", &Broken{Guarantee: factRest, Why: "it does the same over and over: " + x.cycle(at)})
		case at < 0:
			last := path[len(path)-1]
			if err := x.nodes[last].world.Rested(); err != nil {
				x.fault(last, "", err)
			}
		}
		for _, i := range path {
			mark[i] = rests
		}
	}
}

// cycle are the moves that lead from a state back to it.
func (x *explorer) cycle(at int) string {
	var moves []string
	for i := x.nodes[at].onward; ; i = x.nodes[i].onward {
		moves = append(moves, x.nodes[i].move)
		if i == at || len(moves) == 10 {
			return strings.Join(moves, "; ")
		}
	}
}
