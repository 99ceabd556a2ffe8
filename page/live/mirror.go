package live

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// Other is another host that has units of the model. Its agent alone has their histories and
// logs.
type Other struct {
	// Machine is as state.Model.Ask takes it.
	Machine string
	// Present: its agent is there.
	Present bool
}

const (
	// rosterTime is how often a mirror looks which hosts there are, and how long it leaves a
	// host alone that couldn't be asked.
	rosterTime = 5 * time.Second
	// restTime is how long it waits after an answer before it asks a host again, and
	// restPerHost how much longer that is for each host: questions go through the store.
	restTime    = time.Second
	restPerHost = 20 * time.Millisecond
	// answerTime is how long an agent may take to answer. If nothing is new it takes ten
	// seconds.
	answerTime = 30 * time.Second
	// mostKept is how large a copy of a history or a log may become, in bytes, before it is
	// set aside, in place of the one that was set aside before.
	mostKept = 8 << 20
)

// mirror has what other hosts have of a view's model: copies in a directory, which are asked for
// while somebody looks. What comes is also passed on, each run once.
type mirror struct {
	view *View
	dir  string

	mu    sync.Mutex
	hosts map[string]*copied
	came  [][]history.Entry // what nobody has taken yet
}

// copied is the copy of one host's files.
type copied struct {
	Other
	mirror *mirror
	dir    string // as machine.ModelDir is there
	// log and runs are where to go on; whole: the histories are to be sent as a whole.
	log   machine.LogMark
	runs  machine.RunsMark
	begun bool
	whole bool
	// last is the newest run of each unit that was passed on.
	last map[model.UnitName]history.Entry
}

func newMirror(v *View) (*mirror, error) {
	dir, err := os.MkdirTemp("", "unitd-")
	return &mirror{view: v, dir: dir, hosts: map[string]*copied{}}, errors.Annotate(err, "cannot keep what other hosts send")
}

// run follows all other hosts until ctx ends, and removes the copies.
func (m *mirror) run(ctx context.Context) {
	defer os.RemoveAll(m.dir)
	var all sync.WaitGroup
	defer all.Wait()
	for {
		if m.view.watched() {
			for _, c := range m.meet(ctx) {
				all.Go(func() { c.follow(ctx) })
			}
		}
		if !m.rest(ctx, rosterTime) {
			return
		}
	}
}

// once asks all hosts once, and removes the copies. Of one that can't be asked there is what the
// model has.
func (m *mirror) once(ctx context.Context) {
	defer os.RemoveAll(m.dir)
	var all sync.WaitGroup
	for _, c := range m.meet(ctx) {
		all.Go(func() {
			if !c.Present || c.ask(ctx) != nil {
				_ = c.former(ctx)
			}
		})
	}
	all.Wait()
}

// rest waits, and for somebody who looks; false: ctx has ended.
func (m *mirror) rest(ctx context.Context, d time.Duration) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case <-time.After(d):
		}
		if m.view.watched() {
			return true
		}
		d = glance
	}
}

// meet looks which hosts there are, and returns those that are new.
func (m *mirror) meet(ctx context.Context) (came []*copied) {
	others, err := m.view.Others(ctx)
	if err != nil {
		return nil // the view says what is wrong with the store
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, o := range others {
		if c := m.hosts[o.Machine]; c != nil {
			c.Present = o.Present
			continue
		}
		c := &copied{Other: o, mirror: m, dir: filepath.Join(m.dir, filepath.Base(o.Machine)), whole: true, last: map[model.UnitName]history.Entry{}}
		m.hosts[o.Machine] = c
		came = append(came, c)
	}
	return came
}

// present says whether the agent is there, and how long to wait before it is asked again.
func (c *copied) present() (bool, time.Duration) {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	return c.Present, max(restTime, time.Duration(len(c.mirror.hosts))*restPerHost)
}

// follow asks until ctx ends. A host whose agent isn't there is seen as the model has it.
func (c *copied) follow(ctx context.Context) {
	for {
		present, pause := c.present()
		var err error
		switch {
		case present:
			err = c.ask(ctx)
		case !c.begun:
			err = c.former(ctx)
		}
		if err != nil || !present || c.whole {
			pause = max(pause, rosterTime)
		}
		if !c.mirror.rest(ctx, pause) {
			return
		}
	}
}

// former takes what the model has of the host.
func (c *copied) former(ctx context.Context) error {
	files, _, err := machine.Shipped(ctx, c.mirror.view.model, c.Machine)
	if err != nil {
		return errors.Trace(err)
	}
	c.begun, c.log = true, files.Log
	return c.take(files)
}

// ask asks for what is new, or for all that there is at first.
func (c *copied) ask(ctx context.Context) error {
	ctx, stop := context.WithTimeout(ctx, answerTime)
	defer stop()
	q := machine.FilesQuestion{After: &c.log, RunsAfter: &c.runs}
	if c.whole {
		q = machine.FilesQuestion{Names: []string{"history/*.jsonl", "history/*.jsonl.1"}}
		if !c.begun {
			q.Names = append(q.Names, "debug.log", "debug.log.1")
		}
	}
	files, err := machine.AskFiles(ctx, c.mirror.view.model, c.Machine, q)
	if err != nil {
		return errors.Trace(err)
	}
	if !c.begun || !c.whole {
		c.log = files.Log
	}
	// An agent of an earlier version doesn't tell of runs: it is asked for all of them anew.
	c.whole = files.Missed || files.Runs.Agent == ""
	c.begun, c.runs = true, files.Runs
	return c.take(files)
}

// take keeps what has come, and passes it on.
func (c *copied) take(files machine.Files) error {
	if err := files.Keep(c.dir); err != nil {
		return errors.Trace(err)
	}
	text := slices.Concat(files.Files["debug.log.1"], files.Files["debug.log"], files.Lines)
	if err := c.keep("debug.log", files.Lines); err != nil {
		return errors.Trace(err)
	}
	var runs []history.Entry
	for _, name := range slices.Sorted(maps.Keys(files.Files)) { // "x.jsonl" before "x.jsonl.1"
		if unit, is := strings.CutSuffix(name, ".jsonl"); is {
			runs = append(runs, parse[history.Entry](slices.Concat(files.Files[unit+".jsonl.1"], files.Files[name]))...)
		}
	}
	for _, e := range files.Ran {
		line, err := json.Marshal(e)
		if err != nil {
			return errors.Trace(err)
		}
		if err := c.keep("history/"+filepath.Base(history.Path("", e.Unit)), append(line, '\n')); err != nil {
			return errors.Trace(err)
		}
	}
	c.pass(append(runs, files.Ran...), parse[debuglog.Entry](text))
	return nil
}

// keep adds lines to a copy.
func (c *copied) keep(name string, lines []byte) error {
	if len(lines) == 0 {
		return nil
	}
	path := filepath.Join(c.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errors.Annotate(err, "cannot keep what another host has sent")
	}
	if st, err := os.Stat(path); err == nil && st.Size() > mostKept {
		if err := os.Rename(path, path+".1"); err != nil {
			return errors.Annotate(err, "cannot keep what another host has sent")
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot keep what another host has sent")
	}
	_, err = f.Write(lines)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.Annotate(err, "cannot keep what another host has sent")
}

// pass passes on runs that weren't yet, and lines of the log.
func (c *copied) pass(runs []history.Entry, lines []debuglog.Entry) {
	units := map[model.UnitName][]history.Entry{}
	for _, e := range runs {
		units[e.Unit] = append(units[e.Unit], e)
	}
	var came [][]history.Entry
	for unit, entries := range units {
		if entries = c.fresh(entries); len(entries) > 0 {
			c.last[unit] = entries[len(entries)-1]
			came = append(came, entries)
		}
	}
	m := c.mirror
	m.mu.Lock()
	m.came = append(m.came, came...)
	m.mu.Unlock()
	for _, e := range lines[max(0, len(lines)-maxLines):] {
		_ = m.view.line(e)
	}
}

// fresh are those of a unit's runs, in their order, that come after the last one that was passed
// on: a history that is sent as a whole has it too, unless that was set aside.
func (c *copied) fresh(entries []history.Entry) []history.Entry {
	last, has := c.last[entries[0].Unit]
	if !has {
		return entries
	}
	for i, e := range slices.Backward(entries) {
		if e.ID == last.ID && e.Run == last.Run && e.Outcome == last.Outcome && e.Started.Equal(last.Started) {
			return entries[i+1:]
		}
	}
	return slices.DeleteFunc(entries, func(e history.Entry) bool { return !e.Started.IsZero() && e.Started.Before(last.Started) })
}

// take takes the runs that have come, those of a unit in their order.
func (m *mirror) take() [][]history.Entry {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	came := m.came
	m.came = nil
	return came
}

// dirs are the directories of the copies; as machine.ModelDir is.
func (m *mirror) dirs() []string {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(m.hosts)) {
		all = append(all, m.hosts[name].dir)
	}
	return all
}

// parse reads lines of JSON. What isn't whole, or isn't JSON, is left out.
func parse[T any](text []byte) (all []T) {
	for line := range bytes.Lines(text) {
		var e T
		if json.Unmarshal(line, &e) == nil {
			all = append(all, e)
		}
	}
	return all
}
