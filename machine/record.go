package machine

import (
	"fmt"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// recorded is the newest end of a run of this unit that is in the history.
type recorded struct {
	run int64
	how history.Outcome
	// at is the newest run that had begun by then.
	at int64
}

// catchUp writes into the history what ended just before the last agent of this
// unit was killed: the journal is written first, so at most one end is missing.
// newest is the newest run that anybody knows of: a history that has a later one
// is damaged, or that run is forgotten.
func (u *unit) catchUp(e resolver.Ended, newest int64) {
	last, err := history.Last(u.history, u.name)
	if err != nil {
		u.log.Error("cannot read the history", "unit", u.name, "err", err)
	}
	u.recorded = &recorded{}
	if last.ID == u.id && last.Run <= newest { // else it is that of a former unit
		u.recorded = &recorded{last.Run, last.Outcome, max(last.Run, last.Newest)}
	}
	// The newest run was of another charm: what the deployment since then has to
	// say is not in the history yet.
	if deployed, err := u.charm.Deployed(); err == nil && last.Charm != "" && deployed != last.Charm {
		u.noteKept()
	}
	u.recordEnded(e)
}

// noteKept notes which files of hooks have given way to the charm that is now in
// place: for the log, and for the history with the next run that ends.
func (u *unit) noteKept() {
	kept, err := u.charm.Kept()
	if err != nil {
		u.log.Error("cannot tell which files were kept", "unit", u.name, "err", err)
	}
	u.notes = nil
	for _, k := range kept {
		note := fmt.Sprintf("the charm has a file %q now: the one that was there is kept as %q", k.Name, k.As)
		u.notes = append(u.notes, note)
		u.logLine(debuglog.Entry{Level: "WARNING", Module: "unitd.charm", Message: note})
	}
}

// recordEnded writes the end of a run into the history and the log, once. Before
// the first look at the model has told what is recorded, catchUp will do it.
func (u *unit) recordEnded(e resolver.Ended) {
	if u.recorded == nil {
		return
	}
	end := recorded{e.Run, history.Outcome(e.How), max(e.Run, e.Newest)}
	again := end == *u.recorded || end.run == u.recorded.run && e.Hook.IsTask() // a task ends once
	if again || end.at < u.recorded.at {
		return
	}
	u.recorded = &end
	entry := history.Entry{Unit: u.name}
	if u.running.Run == e.Run && e.Run != 0 {
		entry = *u.running
		entry.Notes, u.notes = u.notes, nil
	}
	entry.ID, entry.Run, entry.Hook, entry.Name = u.id, e.Run, e.Hook, e.Hook.Name()
	entry.Newest = e.Newest
	entry.Outcome, entry.Message, entry.Exit = history.Outcome(e.How), u.mask.text(e.Message), e.Exit
	if entry.Outcome != history.Committed {
		entry.Written = history.Written{}
	}
	if err := history.Append(u.disk, u.history, entry); err != nil {
		u.log.Error("cannot write the history", "unit", u.name, "err", err)
	}
	u.recent.add(entry)
	u.logRun(entry)
	if u.observer != nil {
		u.observer(Event{Kind: HookRun, Unit: u.name, Model: u.model.Name(), Run: entry})
	}
	u.traced.end(entry)
	u.keepRecording(entry)
}

// logRun says in the log how a run has ended.
func (u *unit) logRun(e history.Entry) {
	what, named := fmt.Sprintf("hook %q", e.Name), fmt.Sprintf("%q hook", e.Name)
	switch e.Hook.Kind {
	case hooks.Action:
		what = fmt.Sprintf("action %q", e.Hook.Action)
		named = what
	case hooks.Exec:
		what, named = "commands", "commands"
	}
	line := debuglog.Entry{Level: "INFO", Module: "unitd.hooks"}
	switch {
	case e.Missing:
		line.Level, line.Message = "DEBUG", fmt.Sprintf("the charm has no %s", named)
	case e.Outcome == history.Committed:
		line.Message = fmt.Sprintf("ran %s in %s", named, e.Duration.Round(time.Millisecond))
	case e.Outcome == history.Failed:
		line.Level, line.Message = "ERROR", fmt.Sprintf("%s failed: %s", what, e.Message)
	default:
		line.Level, line.Message = "WARNING", fmt.Sprintf("%s was %s", what, e.Outcome)
	}
	u.logLine(line)
}
