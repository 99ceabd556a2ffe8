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
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// copied is one host, as a mirror has it.
type copied struct {
	Machine string // as state.Model.Ask takes it
	mirror  *mirror
	dir     string // as machine.ModelDir is there; empty: there are no copies

	// The mirror is locked for these. there: the agent is. end ends who follows the host, stop
	// the present question; nil: there is none.
	there     bool
	ctx       context.Context
	end, stop context.CancelFunc

	// Where to go on, and whether there was an answer at all. missed: not all that came is known.
	// old: the agent is of a version that tells of no runs.
	log                 machine.LogMark
	runs                machine.RunsMark
	begun, missed, old  bool
	asked, whole, wrote time.Time // the last answer, that with all there is, and what the model has
	// last is the newest run of each unit that was passed on, and line when the last line was
	// logged.
	last map[model.UnitName]seenRun
	line time.Time
}

// seenRun tells a run from others of its unit.
type seenRun struct {
	id      string
	run     int64
	outcome history.Outcome
	began   time.Time
}

func seen(e history.Entry) seenRun { return seenRun{e.ID, e.Run, e.Outcome, e.Started} }

// present says whether the agent is there.
func (c *copied) present() bool {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	return c.there
}

// pause is how long to wait before it is asked again.
func (c *copied) pause() time.Duration {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	return max(restTime, time.Duration(len(c.mirror.hosts))*restPerHost)
}

// leave says that nobody follows the host any more.
func (c *copied) leave() {
	c.mirror.mu.Lock()
	defer c.mirror.mu.Unlock()
	c.end()
	c.end = nil
}

// follow asks while somebody looks, and the host is one of the model's. One that can't be asked
// is seen as the model has it.
func (c *copied) follow() {
	defer c.leave()
	for c.mirror.view.watched() {
		pause, there := c.pause(), c.present()
		if !there || c.ask() != nil {
			_ = c.former()
			pause = max(pause, rosterTime)
		}
		select {
		case <-c.ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// former takes what the model has of the host, if that is something new.
func (c *copied) former() error {
	files, at, err := machine.Shipped(c.ctx, c.mirror.view.model, c.Machine)
	if err != nil || at.Equal(c.wrote) {
		return errors.Trace(err)
	}
	c.wrote = at
	if !c.begun {
		c.begun, c.log = true, files.Log
		c.take(files, parse[debuglog.Entry](text(files, true)))
		return nil
	}
	// Some of it may be older than what is known.
	files.Ran = slices.DeleteFunc(entries(files), func(e history.Entry) bool { return e.Started.Before(c.last[e.Unit].began) })
	lines := slices.DeleteFunc(parse[debuglog.Entry](text(files, true)), func(e debuglog.Entry) bool { return !e.Time.After(c.line) })
	if len(lines) > 0 {
		c.log = files.Log // the agent goes on from there when it is back
	}
	files.Files, files.Lines = nil, nil
	c.take(files, lines)
	return nil
}

// question is what to ask: what is new, or for all that there is.
func (c *copied) question() (q machine.FilesQuestion, all bool) {
	now := time.Now()
	if c.missed || now.Sub(c.asked) > wholeTime || c.old && now.Sub(c.whole) > wholeTime {
		return machine.FilesQuestion{Names: []string{"history/*.jsonl", "history/*.jsonl.1", "debug.log", "debug.log.1"}, Newest: newestUnits}, true
	}
	q = machine.FilesQuestion{After: &c.log, RunsAfter: &c.runs, AtOnce: c.mirror.turn != nil}
	if c.old {
		q.RunsAfter = nil
	}
	return q, false
}

// ask asks the agent, and takes what it answers.
func (c *copied) ask() error {
	m := c.mirror
	if m.turn != nil {
		select {
		case m.turn <- struct{}{}:
			defer func() { <-m.turn }()
		case <-c.ctx.Done():
			return errors.Trace(c.ctx.Err())
		}
	}
	ctx, stop := context.WithTimeout(c.ctx, answerTime)
	defer stop()
	m.mu.Lock()
	c.stop = stop
	m.mu.Unlock()
	q, all := c.question()
	files, err := machine.AskFiles(ctx, m.view.model, c.Machine, q)
	if err != nil {
		return errors.Trace(err)
	}
	c.asked, c.missed, c.old = time.Now(), files.Missed, files.Runs.Agent == ""
	lines := files.Lines
	if all {
		c.whole = c.asked
		lines = c.news(files)
	}
	c.begun, c.log, c.runs = true, files.Log, files.Runs
	c.take(files, parse[debuglog.Entry](lines))
	return nil
}

// news are the lines that aren't known yet of a log that was sent as a whole.
func (c *copied) news(files machine.Files) []byte {
	if !c.begun {
		return text(files, true)
	}
	log := text(files, false)
	if files.Log.First != c.log.First { // it was begun anew
		return log
	}
	return log[len(log)-int(max(0, min(int64(len(log)), files.Log.Offset-c.log.Offset))):]
}

// text is the log of files, with what was set aside or without.
func text(files machine.Files, aside bool) []byte {
	if !aside {
		return files.Files["debug.log"]
	}
	return slices.Concat(files.Files["debug.log.1"], files.Files["debug.log"])
}

// entries are the runs of histories, those of a unit in their order.
func entries(files machine.Files) (all []history.Entry) {
	for _, name := range slices.Sorted(maps.Keys(files.Files)) {
		if unit, is := strings.CutSuffix(name, ".jsonl"); is {
			all = append(all, parse[history.Entry](slices.Concat(files.Files[unit+".jsonl.1"], files.Files[name]))...)
		}
	}
	return all
}

// take keeps a copy of what has come, if that can be had, and then passes it on: who sees a run
// may ask for all of it at once.
func (c *copied) take(files machine.Files, lines []debuglog.Entry) {
	if c.dir != "" {
		c.copy(files)
	}
	c.pass(append(entries(files), files.Ran...), lines)
}

func (c *copied) copy(files machine.Files) {
	_ = durable.Fleeting(c.dir, files.Files)
	_ = keep(filepath.Join(c.dir, "debug.log"), files.Lines, mostLog)
	for _, e := range files.Ran {
		if line, err := json.Marshal(e); err == nil {
			_ = keep(history.Path(filepath.Join(c.dir, "history"), e.Unit), append(line, '\n'), mostRuns)
		}
	}
}

// keep adds lines to a copy.
func keep(path string, lines []byte, most int64) error {
	if len(lines) == 0 {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return errors.Trace(err)
	}
	if st, err := os.Stat(path); err == nil && st.Size() > most {
		if err := os.Rename(path, path+".1"); err != nil {
			return errors.Trace(err)
		}
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	_, err = f.Write(lines)
	return errors.Trace(err)
}

// pass passes on runs that weren't yet, and lines of the log.
func (c *copied) pass(runs []history.Entry, lines []debuglog.Entry) {
	units := map[model.UnitName][]history.Entry{}
	for _, e := range runs {
		if _, err := model.ParseUnitName(string(e.Unit)); err == nil {
			units[e.Unit] = append(units[e.Unit], e)
		}
	}
	var came [][]history.Entry
	for unit, entries := range units {
		if entries = c.fresh(entries); len(entries) > 0 {
			c.last[unit] = seen(entries[len(entries)-1])
			came = append(came, entries)
		}
	}
	m := c.mirror
	m.mu.Lock()
	m.came = append(m.came, came...)
	m.mu.Unlock()
	for _, e := range lines[max(0, len(lines)-maxLines):] {
		m.view.lineOf(e)
		c.line = e.Time
	}
}

// fresh are those of a unit's runs, in their order, that come after the last one that was passed
// on. A history that is sent as a whole has that too, unless there are many new ones.
func (c *copied) fresh(entries []history.Entry) []history.Entry {
	last := c.last[entries[0].Unit]
	for i, e := range slices.Backward(entries) {
		if e.ID == last.id && e.Run == last.run && e.Outcome == last.outcome && e.Started.Equal(last.began) {
			return entries[i+1:]
		}
	}
	return entries
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
