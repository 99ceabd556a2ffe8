package recording

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/tools/wire"
)

// window is how many calls that haven't come yet are looked at where calls were
// made at the same time.
const window = 16

// Player answers the hook tool calls of a hook from a recording, and notes how
// they differ from the recorded ones. It is for one goroutine.
type Player struct {
	rec *Recording
	// keepGoing: every difference counts, not the first alone.
	keepGoing bool
	own       *strings.Replacer // from the paths here to those of the recording
	theirs    *strings.Replacer // and back
	bound     bindings

	used        []bool // by the recorded call
	next        int    // the first recorded call that hasn't come
	made        int
	shown       map[int]bool // recorded calls that a difference was shown beside
	differences []Difference
}

// Difference is where a replay isn't as recorded. A number is that of a call,
// from 1 on; 0 and nil: there is no such call.
type Difference struct {
	What           string
	ActualNumber   int
	Actual         *Call
	RecordedNumber int
	Recorded       *Call
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
		rec: r, keepGoing: keepGoing, used: make([]bool, len(r.Calls)), shown: map[int]bool{},
		own: strings.NewReplacer(), theirs: strings.NewReplacer(),
		bound: bindings{max: r.Redacted, values: map[string]string{}},
	}
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
	c = p.translated(c)
	if i := p.find(c); i >= 0 {
		p.made++
		p.use(i)
		return p.reply(i), p.made, i + 1
	}
	if p.wantsStdin(c) {
		return wire.Reply{Code: wire.NeedStdin}, 0, 0
	}
	p.made++
	p.differ(c)
	if i := p.findAnywhere(c); i >= 0 {
		p.use(i)
		return p.reply(i), p.made, i + 1
	}
	if p.keepGoing && silent(c.Args[0]) {
		return wire.Reply{}, p.made, 0
	}
	return wire.Reply{Code: 1, Stderr: []byte("ERROR not in the recording\n")}, p.made, 0
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

// find is the recorded call that is due and is the same; -1 if it isn't. After
// a difference the order is lost, and any that hasn't come yet will do.
func (p *Player) find(c Call) int {
	left := 1
	switch {
	case len(p.differences) > 0:
		left = len(p.rec.Calls)
	case p.rec.Parallel():
		left = window
	}
	for i := p.next; i < len(p.rec.Calls) && left > 0; i++ {
		if p.used[i] {
			continue
		}
		if p.bound.same(p.rec.Calls[i], c) {
			return i
		}
		left--
	}
	return -1
}

// findAnywhere is the nearest recorded call that is the same: one that is still
// to come, else the last one that has come.
func (p *Player) findAnywhere(c Call) int {
	for i := p.next; i < len(p.rec.Calls); i++ {
		if !p.used[i] && p.bound.same(p.rec.Calls[i], c) {
			return i
		}
	}
	for i := len(p.rec.Calls) - 1; i >= 0; i-- {
		if p.used[i] && p.bound.same(p.rec.Calls[i], c) {
			return i
		}
	}
	return -1
}

func (p *Player) use(i int) {
	p.used[i] = true
	for p.next < len(p.used) && p.used[p.next] {
		p.next++
	}
}

func (p *Player) reply(i int) wire.Reply {
	c := p.rec.Calls[i]
	told := func(text []byte) []byte { return []byte(p.theirs.Replace(string(p.bound.tell(text)))) }
	return wire.Reply{Code: c.Code, Stdout: told(c.Stdout), Stderr: told(c.Stderr)}
}

// wantsStdin says whether a recorded call that hasn't come is the same but for
// a standard input, which the caller hasn't sent.
func (p *Player) wantsStdin(c Call) bool {
	if c.StdinSet || c.File != nil {
		return false
	}
	for i := p.next; i < len(p.rec.Calls); i++ {
		recorded := p.rec.Calls[i]
		if p.used[i] || !recorded.StdinSet {
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

// partial says why the recording ends before its run did; empty if it doesn't.
func (p *Player) partial() string {
	switch {
	case p.rec.CutOff:
		return fmt.Sprintf("the recording was cut off after %d calls, as it was too large", len(p.rec.Calls))
	case p.rec.Outcome == history.Stopped:
		return fmt.Sprintf("the recorded run was stopped after %d calls", len(p.rec.Calls))
	}
	return ""
}

// differ notes that a call isn't the recorded one.
func (p *Player) differ(c Call) {
	if len(p.differences) > 0 && !p.keepGoing {
		return
	}
	d := Difference{ActualNumber: p.made, Actual: &c, What: fmt.Sprintf("call %d differs", p.made)}
	due := p.next
	for due < len(p.used) && (p.used[due] || p.shown[due]) {
		due++
	}
	switch {
	case due < len(p.rec.Calls):
		d.RecordedNumber, d.Recorded = due+1, &p.rec.Calls[due]
		p.shown[due] = true
	case p.partial() != "":
		d.What = p.partial() + "; the hook goes on"
	default:
		d.What = fmt.Sprintf("call %d is not in the recording, which has %d", p.made, len(p.rec.Calls))
	}
	p.differences = append(p.differences, d)
}

// Finish says how the replay differs from the recording, now that the hook has
// ended with that exit code, -1 by a signal; nil: it doesn't.
func (p *Player) Finish(exit int) []Difference {
	partial := p.partial() != ""
	for i := range p.rec.Calls {
		if p.used[i] || p.shown[i] || partial || len(p.differences) > 0 && !p.keepGoing {
			continue
		}
		p.differences = append(p.differences, Difference{
			What: fmt.Sprintf("recorded call %d was not made", i+1), RecordedNumber: i + 1, Recorded: &p.rec.Calls[i],
		})
	}
	if exit != p.rec.Exit && p.rec.Outcome != history.Stopped {
		p.differences = append(p.differences, Difference{
			What: fmt.Sprintf("exit code %d, recorded %d", exit, p.rec.Exit),
		})
	}
	return p.differences
}

// Made is how many calls there were.
func (p *Player) Made() int { return p.made }
