package recording

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/tools/wire"
)

// window is how many calls that haven't come yet are looked at where calls were
// made at the same time.
const window = 16

// Player answers the hook tool calls of a hook, and what it asks of Pebbles, from a
// recording, and notes how they differ from the recorded ones. It is for many
// goroutines.
type Player struct {
	rec *Recording
	// keepGoing: every difference counts, not the first alone.
	keepGoing bool
	own       *strings.Replacer // from the paths here to those of the recording
	theirs    *strings.Replacer // and back

	mu          sync.Mutex // for what follows
	bound       bindings
	calls       sequence[Call]
	asked       sequence[Asked]
	execs       map[int]*Exec // what commands were given, by the number of their request
	differences []Difference
}

// Difference is where a replay isn't as recorded. A number is that of a call,
// from 1 on; 0 and nil: there is no such call. Either the calls or the requests are
// nil.
type Difference struct {
	What           string
	ActualNumber   int
	Actual         *Call
	RecordedNumber int
	Recorded       *Call
	// ActualAsked and RecordedAsked are requests to Pebbles.
	ActualAsked, RecordedAsked *Asked
}

// SameArguments says whether the calls are the same but for what they have
// read.
func (d Difference) SameArguments() bool {
	return d.Actual != nil && d.Recorded != nil && slices.Equal(asStdin(*d.Actual).Args, asStdin(*d.Recorded).Args)
}

// NewPlayer plays a recording. Paths below the recorded charm directory are
// taken for those below charm.
func NewPlayer(r *Recording, charm string, keepGoing bool) *Player {
	p := &Player{
		rec: r, keepGoing: keepGoing, own: strings.NewReplacer(), theirs: strings.NewReplacer(),
		bound: bindings{max: r.Redacted, values: map[string]string{}}, execs: map[int]*Exec{},
	}
	p.calls = newSequence(kind[Call]{one: "call %d", many: "calls", same: p.bound.same, put: func(d *Difference, actual, recorded *Call) {
		d.Actual, d.Recorded = actual, recorded
	}}, r, r.Calls, r.Parallel(), r.CutOff)
	p.asked = newSequence(kind[Asked]{one: "request %d to Pebble", many: "requests to Pebble", same: p.bound.sameAsked, put: func(d *Difference, actual, recorded *Asked) {
		d.ActualAsked, d.RecordedAsked = actual, recorded
	}}, r, r.Asked, r.parallelAsked(), r.AskedCutOff)
	if recorded := r.Getenv("CHARM_DIR"); recorded != "" && charm != "" {
		p.own, p.theirs = strings.NewReplacer(charm, recorded), strings.NewReplacer(recorded, charm)
	}
	for _, v := range r.Env {
		p.bound.noteTold(p.bound.values, v)
	}
	return p
}

// Answer answers the next call, of which Args, Stdin and File are known. As is
// the call's number, 0 where it has to be made again with standard input;
// recorded that of the recorded call which the answer is from, 0 where there is
// none.
func (p *Player) Answer(c Call) (reply wire.Reply, number, recorded int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c = p.translated(c)
	if i := p.calls.find(c, len(p.differences) > 0); i >= 0 {
		p.calls.made++
		p.calls.use(i)
		return p.reply(i), p.calls.made, i + 1
	}
	if p.wantsStdin(c) {
		return wire.Reply{Code: wire.NeedStdin}, 0, 0
	}
	p.calls.made++
	p.note(p.calls.differs(c))
	if i := p.calls.findAnywhere(c); i >= 0 {
		p.calls.use(i)
		return p.reply(i), p.calls.made, i + 1
	}
	if p.keepGoing && silent(c.Args[0]) {
		return wire.Reply{}, p.calls.made, 0
	}
	return wire.Reply{Code: 1, Stderr: []byte("ERROR not in the recording\n")}, p.calls.made, 0
}

// silent says whether a tool prints nothing when it succeeds, so that one can
// do as if it had.
func silent(tool string) bool {
	for _, end := range []string{"-set", "-delete", "-log", "-port", "-reboot", "-fail"} {
		if strings.HasSuffix(tool, end) {
			return true
		}
	}
	return false
}

// translated is a call with the paths of the recording.
func (p *Player) translated(c Call) Call {
	c.Args = slices.Clone(c.Args)
	for i, a := range c.Args {
		c.Args[i] = p.own.Replace(a)
	}
	c.Stdin = []byte(p.own.Replace(string(c.Stdin)))
	if c.File != nil {
		c.File = []byte(p.own.Replace(string(c.File)))
	}
	return c
}

func (p *Player) reply(i int) wire.Reply {
	c := p.rec.Calls[i]
	return wire.Reply{Code: c.Code, Stdout: p.told(c.Stdout), Stderr: p.told(c.Stderr)}
}

// told is an answer with what is so here.
func (p *Player) told(text []byte) []byte {
	return []byte(p.theirs.Replace(string(p.bound.tell(text))))
}

// wantsStdin says whether a recorded call that hasn't come is the same but for
// a standard input, which the caller hasn't sent.
func (p *Player) wantsStdin(c Call) bool {
	if c.StdinSet || c.File != nil {
		return false
	}
	for i := p.calls.next; i < len(p.rec.Calls); i++ {
		recorded := p.rec.Calls[i]
		if p.calls.used[i] || !recorded.StdinSet {
			continue
		}
		recorded.StdinSet, recorded.Stdin = false, nil
		trial := bindings{max: p.bound.max, values: p.bound.values}
		if trial.same(recorded, c) {
			return true
		}
	}
	return false
}

// note keeps a difference: the first, or all.
func (p *Player) note(d Difference) {
	if len(p.differences) == 0 || p.keepGoing {
		p.differences = append(p.differences, d)
	}
}

// Finish says how the replay differs from the recording, now that the hook has
// ended with that exit code, -1 by a signal; nil: it doesn't.
func (p *Player) Finish(exit int) []Difference {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.finishExecs()
	for _, d := range append(p.calls.missing(), p.asked.missing()...) {
		p.note(d)
	}
	if exit != p.rec.Exit && p.rec.Outcome != history.Stopped {
		p.differences = append(p.differences, Difference{
			What: fmt.Sprintf("exit code %d, recorded %d", exit, p.rec.Exit),
		})
	}
	return p.differences
}

// Made is how many calls there were.
func (p *Player) Made() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.calls.made
}

// MadeAsked is how many requests to Pebbles there were.
func (p *Player) MadeAsked() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked.made
}
