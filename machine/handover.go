package machine

import (
	"context"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/uniter"
)

// HandoverFormat is that of Handover: who reads another one than his own would take it for
// something else.
const HandoverFormat = 1

// Handover is what an agent hands over to its successor in the same process: presence and
// leadership, and the hooks that run. The process then becomes another program, so its
// number and its children stay as they are; all else the successor finds in the store and
// on the disk, as after a crash.
// Source: docs/upgrades.md, "What is handed over".
type Handover struct {
	Format int
	Lease  store.LeaseID
	Runs   []HandedRun
}

// HandedRun is a hook that runs on while the agent becomes another program.
type HandedRun struct {
	// Model is the model's UUID, ID is state.UnitDoc.ID.
	Model string
	Unit  model.UnitName
	ID    string
	Run   int64
	Limit time.Duration
	// Until is when it has taken too long; zero: there is no limit.
	Until time.Time
	// ContextID is what its hook tools say, Address where they do.
	ContextID, Address string
	Context            hookcontext.Memory
	// Broken are the relations that the hook takes for broken.
	Broken []model.RelationID
	// Env is the hook's environment.
	Env   [][]byte
	Entry history.Entry
	Tail  HandedTail
	// Began is when its calls are counted from.
	Began time.Time
	// Recording is that of the run, as far as it has come; nil: it isn't recorded.
	Recording *recording.Recording
	// Secrets are those whose values are in no log.
	Secrets []HandedSecret
	Pid     int
	// Rest is what was read of a line of standard output, and of standard error.
	Rest [2][]byte

	// Socket is that of its hook tools, Output where its outputs are read from (nil: they
	// have ended). Whoever makes of a Handover a text sees to them by himself.
	Socket *os.File    `json:"-"`
	Output [2]*os.File `json:"-"`
}

// HandedSecret is recording.Secret, whatever bytes it has.
type HandedSecret struct {
	Key   string
	Value []byte
}

// HandedTail is what a failure of the hook would tell of its output.
type HandedTail struct {
	Kept                []string
	LastPrinted, Logged string
}

// holdMost bounds how long a hook is held up before the agent has become another program,
// or doesn't: one whose tool calls take longer is tried again.
const holdMost = 3 * time.Second

// holdSoon bounds how long others are held up for a hook that has just ended, or isn't there yet.
const holdSoon = 300 * time.Millisecond

// holdAgain is after how long hooks that couldn't be held are tried again.
const holdAgain = 500 * time.Millisecond

// program is a hook's program that runs and that can be handed over.
type program struct {
	run       uniter.Run
	hctx      *hookcontext.Context
	contextID string
	env       []string
	calls     *calls
	broken    []model.RelationID
	tail      *outputTail
}

// HandOver waits until each hook that runs has ended or can be handed over, while no other
// one begins, and then calls become, with which this process becomes another program. It
// returns only if it doesn't, and then all goes on as before: with become's error, or with
// ctx's, that says what is in the way.
type HandOver func(ctx context.Context, become func(Handover) error) error

func (a *agent) handOver(ctx context.Context, become func(Handover) error) error {
	// What was handed over to this agent is handed on only when it goes on.
	if err := a.handing.all(ctx); err != nil {
		return errors.Trace(err)
	}
	for {
		resume, changed, err := a.handing.pause()
		if errors.Is(err, errPaused) {
			return errors.Trace(err)
		}
		inTheWay := []string{}
		if err != nil {
			inTheWay = append(inTheWay, err.Error())
		} else {
			inTheWay, changed, err = a.handOverNow(ctx, become)
			if len(inTheWay) == 0 {
				resume()
				return errors.Trace(err)
			}
		}
		err = a.awaitOthers(ctx, changed, inTheWay)
		if resume != nil {
			resume()
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
}

// awaitOthers waits until something changes, or for a while. The error says who is in the way
// when ctx ends.
func (a *agent) awaitOthers(ctx context.Context, changed <-chan struct{}, inTheWay []string) error {
	select {
	case <-ctx.Done():
		return errors.Errorf("the agent goes on as it was: %s still running", strings.Join(inTheWay, ", "))
	case <-changed:
	case <-time.After(holdAgain):
	}
	return nil
}

// handOverNow hands over, unless something is in the way; changed is closed then when that
// may be otherwise. No run begins meanwhile.
func (a *agent) handOverNow(ctx context.Context, become func(Handover) error) (inTheWay []string, changed <-chan struct{}, err error) {
	units, others, changed := a.handing.running()
	for _, u := range units {
		if u.runs.Load() == nil {
			others = append(others, string(u.name))
		}
	}
	if len(others) > 0 {
		slices.Sort(others)
		return others, changed, nil // before any hook is held up
	}
	runs, letGo, inTheWay := holdAll(ctx, units)
	defer letGo()
	if len(inTheWay) > 0 {
		return inTheWay, changed, nil
	}
	if err := a.lease.alive(ctx); err != nil {
		return nil, nil, errors.Annotate(err, "the agent goes on as it was: the store can't be reached")
	}
	if err := ctx.Err(); err != nil { // it is to stop, or nobody waits any more
		return nil, nil, errors.Trace(err)
	}
	return nil, nil, errors.Trace(become(Handover{Format: HandoverFormat, Lease: a.lease.current(), Runs: runs}))
}

// holdAll holds the hooks of units until letGo is called; inTheWay are those that can't
// be held now.
func holdAll(ctx context.Context, units []*unit) (runs []HandedRun, letGo func(), inTheWay []string) {
	ctx, cancel := context.WithTimeout(ctx, holdMost)
	defer cancel()
	var held []func()
	letGo = func() {
		for _, end := range held {
			end()
		}
	}
	for _, u := range units {
		run, end, err := u.hold(ctx)
		if err != nil {
			inTheWay = append(inTheWay, err.Error())
			continue
		}
		held = append(held, end)
		runs = append(runs, run)
	}
	slices.Sort(inTheWay)
	return runs, letGo, inTheWay
}

// hold holds the unit's hook, until letGo is called. The error names what can't be held.
func (u *unit) hold(ctx context.Context) (_ HandedRun, letGo func(), err error) {
	p := u.runs.Load()
	if p == nil {
		return HandedRun{}, nil, errors.Errorf("%s", u.name)
	}
	cannot := errors.Errorf("%s of %s", p.run.Hook.Name(), u.name)
	thaw, err := u.server.Freeze(ctx)
	if err != nil {
		return HandedRun{}, nil, cannot
	}
	soon, cancel := context.WithTimeout(ctx, holdSoon)
	defer cancel()
	held, goOn, err := u.runner.Hold(soon)
	if err != nil {
		thaw()
		return HandedRun{}, nil, cannot
	}
	socket, err := u.server.File()
	if err != nil {
		goOn()
		thaw()
		return HandedRun{}, nil, cannot
	}
	return u.handedRun(p, held, socket), func() {
		socket.Close()
		goOn()
		thaw()
	}, nil
}

// handedRun is what a successor has to know of the run, which is held.
func (u *unit) handedRun(p *program, held runner.Held, socket *os.File) HandedRun {
	h := HandedRun{
		Model: u.model.UUID(), Unit: u.name, ID: u.id, Run: p.run.Number, Limit: p.run.Limit,
		ContextID: p.contextID, Address: u.server.Addr(), Context: p.hctx.Memory(), Broken: p.broken,
		Env: bytesOf(p.env), Entry: p.calls.soFar(), Tail: p.tail.handed(), Began: p.calls.began,
		Recording: u.taking.soFar(), Secrets: u.mask.handed(), Pid: held.Pid, Socket: socket,
	}
	if ns := u.until.Load(); ns != math.MaxInt64 {
		h.Until = time.Unix(0, ns)
	}
	for i, o := range held.Output {
		h.Rest[i], h.Output[i] = o.Rest, o.File
	}
	return h
}

// bytesOf are texts, whatever bytes they have.
func bytesOf(texts []string) (all [][]byte) {
	for _, t := range texts {
		all = append(all, []byte(t))
	}
	return all
}

// textsOf are those of bytesOf.
func textsOf(all [][]byte) (texts []string) {
	for _, b := range all {
		texts = append(texts, string(b))
	}
	return texts
}

// handed is what a successor has to hide as well.
func (m *mask) handed() (all []HandedSecret) {
	for _, s := range m.all() {
		all = append(all, HandedSecret{s.Key, []byte(s.Value)})
	}
	return all
}

// soFar is the entry with the calls until now.
func (c *calls) soFar() history.Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return *c.entry
}

// soFar is the recording until now.
func (t *taking) soFar() *recording.Recording {
	if t == nil || !t.ran {
		return nil
	}
	r := t.rec
	r.Calls, r.CutOff = t.calls.Calls()
	r.Asked, r.AskedCutOff = t.calls.Asked()
	return &r
}

// handed is what a successor has to know of it.
func (o *outputTail) handed() HandedTail {
	o.mu.Lock()
	defer o.mu.Unlock()
	last := func(s said) string {
		if e := s.python.exception(); e != "" {
			return e
		}
		return s.last
	}
	return HandedTail{Kept: slices.Clone(o.kept), LastPrinted: last(o.printed), Logged: last(o.logged)}
}

// handedTail is a tail that goes on.
func handedTail(h HandedTail, hook hooks.Info) *outputTail {
	o := &outputTail{relation: hook.RelationRef()}
	o.printed.last, o.logged.last = h.LastPrinted, h.Logged
	for _, line := range h.Kept {
		o.keep(line)
	}
	return o
}
