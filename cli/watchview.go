package cli

import (
	"strings"
	"sync"
	"time"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// watchView shows rounds: a title, a line for each hook, what has changed, and
// what the hooks that failed have logged. A terminal shows the newest round
// alone, in a pipe a line separates them.
type watchView struct {
	app   base
	path  string
	dir   string
	hooks hookLines

	mu sync.Mutex
	// logs has what each unit's present run has logged, or its last one, if it
	// has failed.
	logs map[model.UnitName]*runLog
}

// runLog are the last lines that a run has logged.
type runLog struct {
	lines []debuglog.Entry
	over  bool
}

// runLogLines is how many are shown.
const runLogLines = 15

func newWatchView(a base, m *state.Model, path, dir string) *watchView {
	return &watchView{
		app: a, path: path, dir: dir, hooks: hookLines{app: a, model: watchedModel, sources: a.sourcesIn(m, dir)},
		logs: map[model.UnitName]*runLog{},
	}
}

// event is the agent's observer.
func (v *watchView) event(e machine.Event) {
	v.note(e)
	v.hooks.event(e)
}

// note keeps what runs log.
func (v *watchView) note(e machine.Event) {
	v.mu.Lock()
	defer v.mu.Unlock()
	log := v.logs[e.Unit]
	if log == nil {
		log = &runLog{}
		v.logs[e.Unit] = log
	}
	switch {
	case e.Kind == machine.HookRun:
		log.over = true
		if e.Run.Outcome == history.Committed {
			log.lines = nil
		}
	case e.Kind == machine.LogLine && strings.HasPrefix(e.Log.Module, "unit."):
		if log.over {
			log.over, log.lines = false, nil
		}
		log.lines = append(log.lines, e.Log)
		log.lines = log.lines[max(0, len(log.lines)-runLogLines):]
	}
}

// begin begins a round.
func (v *watchView) begin(title string) {
	at := time.Now().Format(time.TimeOnly)
	if terminal.Is(v.app.Out) {
		v.app.printf("\x1b[H\x1b[2J\x1b[3J%s\n", v.app.paint(v.app.Out, render.Bold, at+"  "+title))
		return
	}
	v.app.printf("---- %s  %s\n", at, title)
}

// changed shows what a round has changed.
func (v *watchView) changed(all []model.Difference) {
	if len(all) == 0 {
		v.app.printf("nothing has changed\n")
		return
	}
	v.app.printf("changed:\n")
	colours := map[string]render.Colour{"+": render.Green, "-": render.Red, "~": render.Yellow}
	for _, d := range all {
		v.app.printf("  %s\n", v.app.paint(v.app.Out, colours[d.Sign()], render.Harmless(d.String())))
	}
}

// failures shows the units in error with what their hooks have logged last.
func (v *watchView) failures(failed []failedUnit) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, u := range failed {
		v.app.printf("%s: %s; the next save runs it again\n", v.app.paint(v.app.Out, render.Red, string(u.name)), render.Harmless(u.message))
		if log := v.logs[u.name]; log != nil {
			for _, line := range log.lines {
				text := v.hooks.sources.Text(u.name.Tag(), line.Message)
				v.app.printf("    %s %s\n", line.Level, render.Record(text, "        "))
			}
		}
	}
}

// wait says what is waited for.
func (v *watchView) wait() {
	v.app.printf("watching %s; Ctrl-C ends it, and UNITD_DATA=%s lets other commands look in\n", v.path, v.dir)
}
