package machine

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/uniter/journal"
)

// former ends what is left running of hooks in which an agent was killed, and
// whose unit went before there was an agent again.
type former struct {
	dir     string // Config.Dir
	uuid    string // the model's
	cgroups *runner.Cgroups
	log     *slog.Logger
}

// endIn ends it for the unit whose directory that is. What the unit has started
// and left running on purpose runs on.
func (f former) endIn(ctx context.Context, dir string) {
	l, there, err := journal.Read(dir)
	if err != nil || !there {
		return // one that can't be read says of no run that it was pending
	}
	hook, run, ok := l.Interrupted()
	if !ok {
		return
	}
	// That a run has committed is in the model, which has the unit no more, and
	// in its history.
	if last, err := history.Last(HistoryDir(f.dir, f.uuid), l.Unit); err == nil && last.ID == l.ID && last.Run >= run {
		return
	}
	found, left := runner.EndRun(ctx, f.cgroups, RunMark(f.uuid, l.Unit, l.ID, run), "") // its machine ends whole
	tellEnded(f.log, l.Unit, hook.Name(), found, left)
}

// endAll is endIn for all units of a model that is gone.
func (f former) endAll(ctx context.Context) {
	agents := filepath.Join(ModelDir(f.dir, f.uuid), "agents")
	entries, err := os.ReadDir(agents)
	if err != nil {
		return // it had no units here
	}
	for _, e := range entries {
		f.endIn(ctx, filepath.Join(agents, e.Name()))
	}
}

// tellEnded says what became of the processes of an interrupted hook.
func tellEnded(log *slog.Logger, unit model.UnitName, hook string, found, left int) {
	if found > 0 {
		log.Warn("ended what an interrupted hook had left running", "unit", unit, "hook", hook, "processes", found)
	}
	if left > 0 {
		log.Error("cannot end all that an interrupted hook has left running", "unit", unit, "hook", hook, "processes", left)
	}
}
