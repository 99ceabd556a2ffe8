package memory

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/replay"
	"github.com/unitd/unitd/script/lab"
)

// start is what a program starts with.
type start struct {
	key    string
	names  replay.Names
	before *sight
}

// Around is machine.Config.Around.
func (m *Memory) Around(ctx context.Context, p machine.Program, run machine.RunProgram) runner.Outcome {
	s, ok := m.start(p)
	if !ok {
		m.count(ranFile)
		return run(p.Print)
	}
	tree, err := m.recall(s.key)
	switch {
	case errors.Is(err, replay.ErrDiffers):
		m.refuse(p, err.Error())
		fallthrough
	case err != nil:
		m.count(ranFile)
		return run(p.Print)
	case tree.Empty() || m.sampled(p):
		return m.run(p, s, tree, run, nil)
	}
	return m.play(ctx, p, s, tree, run)
}

// start is what the program starts with; false: it is run in any case.
func (m *Memory) start(p machine.Program) (start, bool) {
	inCharm := filepath.Dir(p.Path) == p.Dir || filepath.Dir(filepath.Dir(p.Path)) == p.Dir
	if !p.Alone || !inCharm || m.Real != nil && m.Real(p) || m.refused(p) {
		return start{}, false
	}
	before, err := m.lookerOf(p.Dir).look(p.Dir)
	if errors.Is(err, errUnfit) {
		m.refuseCharm(p, err.Error())
	}
	if err != nil {
		return start{}, false
	}
	if before.mentioned("UNITD_WORK") {
		m.refuseCharm(p, "it mentions UNITD_WORK, so it uses files of the script")
		return start{}, false
	}
	names := replay.NewNames(map[string]string{
		"charm": p.Dir, "unit": filepath.Dir(p.Dir), "world": m.World, "work": variable(p.Env, lab.WorkVariable),
		"socket": variable(p.Env, "JUJU_AGENT_SOCKET"), "context": p.Context, "model": variable(p.Env, "JUJU_MODEL_UUID"),
	})
	env, ok := names.Environment(p.Env, func(name string) bool {
		return name == runner.MarkVariable || slices.Contains(words, name) && !before.mentioned(name)
	})
	if !ok {
		return start{}, false
	}
	path, _ := names.Hide(p.Path)
	return start{key: replay.Key(p.Charm, path, env, before.digest()), names: names, before: before}, true
}

func (m *Memory) lookerOf(dir string) *looker {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lookers == nil {
		m.lookers = map[string]*looker{}
	}
	if m.lookers[dir] == nil {
		m.lookers[dir] = &looker{memory: m}
	}
	return m.lookers[dir]
}

// patience is how long a hook may take to be replayed: one that takes longer waits for
// something. It is as long as a script waits for a world.
const patience = 2 * time.Minute

// run runs a program, compares what it does with what is known, and remembers it. made are
// the calls that were made in its place.
func (m *Memory) run(p machine.Program, s start, tree *replay.Tree, run machine.RunProgram, made []madeCall) runner.Outcome {
	m.count(ranFile)
	m.giveCode(p, s.before)
	e := &ear{names: s.names, dir: p.Dir, made: made}
	p.Listen(e.known, e.heard)
	began := time.Now()
	o := run(func(stream runner.Stream, line string) {
		e.printed(stream, line)
		p.Print(stream, line)
	})
	took := time.Since(began)
	p.Listen(nil, nil)
	if o.Err != nil || o.Stopped || o.Signal != 0 {
		return o // something has happened to it
	}
	if e.other() {
		// There can't be such a world: it has calls that nobody makes.
		m.spoil()
		m.refuse(p, "with the same inputs and answers it made other calls")
		return o
	}
	if took > patience {
		m.refuse(p, "it takes longer than "+patience.String())
		return o
	}
	if len(runner.Running(variableAs(p.Env, runner.MarkVariable))) > 0 {
		m.refuseCharm(p, "it leaves processes behind")
		return o
	}
	if err := m.learn(p, s, tree, e, o.Exit); err != nil {
		m.refuse(p, err.Error())
	}
	return o
}

// learn adds what a program did to what is known. The error says for people why it can't be
// remembered.
func (m *Memory) learn(p machine.Program, s start, tree *replay.Tree, e *ear, exit int) error {
	after, err := m.lookerOf(p.Dir).look(p.Dir)
	if err != nil {
		return err
	}
	m.keepCode(p, after)
	r, err := e.all()
	if err != nil {
		return err
	}
	r.End.Exit, r.End.Changes = exit, changes(s.before, after)
	known, err := tree.Add(r)
	if known || err != nil {
		return err
	}
	if err := m.store(p.Dir, s.names, r.End.Changes); err != nil {
		return err
	}
	return m.keep(s.key, r)
}

// variableAs is a variable of an environment with its value, "NAME=value".
func variableAs(env []string, name string) string { return name + "=" + variable(env, name) }

// play does what a program would do.
func (m *Memory) play(ctx context.Context, p machine.Program, s start, tree *replay.Tree, run machine.RunProgram) runner.Outcome {
	walk := tree.Walk()
	var made []madeCall
	for {
		asked, ok := walk.Next()
		if !ok {
			break
		}
		req, remove, err := s.show(p, asked)
		if err != nil {
			return m.run(p, s, tree, run, made)
		}
		reply := p.Call(req)
		remove()
		made = append(made, madeCall{asked, reply})
		said, ok := hideReply(s.names, reply)
		if !ok || ctx.Err() != nil || !walk.Hear(said) {
			return m.run(p, s, tree, run, made)
		}
	}
	end, ok := walk.End()
	if !ok {
		return m.run(p, s, tree, run, made)
	}
	for _, l := range end.Printed {
		stream := runner.Stdout
		if l.Err {
			stream = runner.Stderr
		}
		p.Print(stream, s.names.Show(l.Text))
	}
	if err := m.apply(p.Dir, end.Changes); err != nil {
		m.spoil()
		return runner.Outcome{Exit: -1, Err: err}
	}
	m.count(playedFile)
	m.put(filepath.Join(usedDir, hook(p)+usedBy+m.Way), nil)
	return runner.Outcome{Exit: end.Exit}
}
