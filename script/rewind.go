package script

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script/lab"
)

// keptRuns are the times right after hook runs, the oldest first. The world can go back to one of
// them as to a snapshot. Nothing of the world is stopped for them: while it is told to wait no
// hook runs and no agent writes, so its files are what a crash at that moment would leave.
type keptRuns struct {
	all  []keptRun
	seen map[ranUnit]ranOnce
	n    int // how many were made
}

// maxKeptRuns bounds them: each takes a copy of the store, and the space of the files that have changed.
const maxKeptRuns = 50

// ranUnit is a unit of a model, by the model's UUID, and ranOnce its newest run: which, of which
// of the units that have had its name, and how it has ended.
type (
	ranUnit struct {
		uuid string
		unit model.UnitName
	}
	ranOnce struct {
		id  string
		run int64
		how history.Outcome
	}
)

// keptRun is the world right after runs, most often a single one.
type keptRun struct {
	ended map[ranUnit]ranOnce
	*kept
}

func (c *call) keepRuns() error {
	switch {
	case len(c.args) == 1 && c.args[0] == "off":
		return c.dropRuns(0)
	case len(c.args) != 0:
		return c.usagef("expected nothing, or off")
	case c.ran != nil:
		return nil
	}
	return c.beginRuns()
}

// beginRuns begins to keep the world after runs.
func (c *call) beginRuns() error {
	if _, ok := c.store.(storeFile); !ok {
		return errNoStoreFile
	}
	seen, err := c.newestRuns()
	c.ran = &keptRuns{seen: seen}
	return err
}

// dropRuns drops the times from the i-th on; of the first on, and none are kept any more.
func (w *world) dropRuns(i int) error {
	if w.ran == nil {
		return nil
	}
	var failed error
	for _, r := range w.ran.all[i:] {
		failed = cmp.Or(failed, w.drop(r.kept))
	}
	if w.ran.all = w.ran.all[:i]; i == 0 {
		w.ran = nil
	}
	return errors.Trace(failed)
}

// keepRunsAnew drops the times that are kept, which are those of another course of things, and
// goes on keeping them.
func (c *call) keepRunsAnew() error {
	if c.ran == nil {
		return nil
	}
	if err := c.dropRuns(0); err != nil {
		return err
	}
	return c.beginRuns()
}

// newestRuns are the newest runs of all units of all models.
func (w *world) newestRuns() (map[ranUnit]ranOnce, error) {
	infos, err := w.models.Models(w.ctx)
	if err != nil {
		return nil, err
	}
	all := map[ranUnit]ranOnce{}
	for _, info := range infos {
		dir := machine.HistoryDir(w.dir, info.UUID)
		units, err := history.Units(dir)
		if err != nil {
			return nil, err
		}
		for _, unit := range units {
			last, err := history.Last(dir, unit)
			if err != nil {
				return nil, err
			}
			all[ranUnit{info.UUID, unit}] = ranOnce{last.ID, last.Run, last.Outcome}
		}
	}
	return all, nil
}

// byRuns lets hooks run until nothing is left to do, or so many have run (-1: any number), and
// keeps the world after each. The agent has been let go. paused says that more would run; it is
// held then.
func (w *world) byRuns(n int) (paused bool, err error) {
	one, none := 1, -1
	defer func() {
		if _, rerr := w.running(); rerr == nil {
			if _, terr := w.tell(lab.Request{Limit: &none}); err == nil {
				err = terr
			}
		}
	}()
	for i := 0; n < 0 || i < n; i++ {
		if _, err := w.tell(lab.Request{Limit: &one}); err != nil {
			return false, err
		}
		if err := w.hold(false); err != nil {
			return false, err
		}
		if err := w.until(true); err != nil {
			return false, err
		}
		answer, err := w.tell(lab.Request{})
		if err != nil {
			return false, err
		}
		if !answer.Paused {
			// An agent that was rebooted counts no more.
			if _, err := w.tell(lab.Request{Limit: &none}); err != nil {
				return false, err
			}
			if err := w.until(false); err != nil {
				return false, err
			}
		}
		if err := w.hold(true); err != nil {
			return false, err
		}
		if err := w.keepRun(); err != nil {
			return false, err
		}
		if !answer.Paused {
			return false, w.hold(false)
		}
	}
	return true, nil
}

// hold holds the agent, or lets it go on.
func (w *world) hold(hold bool) error {
	_, err := w.tell(lab.Request{Hold: &hold})
	return err
}

// keepRun keeps the world as it is, if runs have ended since it was kept before. The agent is
// held.
func (w *world) keepRun() error {
	now, err := w.newestRuns()
	if err != nil {
		return err
	}
	ended := map[ranUnit]ranOnce{}
	for unit, once := range now {
		if w.ran.seen[unit] != once {
			ended[unit] = once
		}
	}
	if can, err := w.canKeep(); err != nil || !can || len(ended) == 0 {
		return err
	}
	w.ran.n++
	k := &kept{dir: filepath.Join(w.work, ".snapshots", fmt.Sprintf("run-%d", w.ran.n)), now: w.clock.Now()}
	err = w.keepState(k)
	if err == nil {
		err = w.keepFiles(k, true)
	}
	if err != nil {
		_ = w.drop(k) // the first error says more
		return errors.Annotate(err, "cannot keep the world after a run")
	}
	k.happened()
	w.ran.all, w.ran.seen = append(w.ran.all, keptRun{ended, k}), now
	if len(w.ran.all) > maxKeptRuns {
		oldest := w.ran.all[0]
		w.ran.all = w.ran.all[1:]
		return errors.Trace(w.drop(oldest.kept))
	}
	return nil
}

// canKeep says whether the world can be kept as it is: not while a unit hangs in its hook, the
// store is out of reach or the disk is full. It is after a later run then.
func (w *world) canKeep() (bool, error) {
	if _, err := w.running(); err != nil {
		return true, nil
	}
	answer, err := w.tell(lab.Request{})
	return len(answer.Hung) == 0 && !answer.Lost && !answer.Full, err
}

func (c *call) rewind() error {
	if len(c.args) == 3 && c.args[1] == "--to" {
		c.args = []string{c.args[0], c.args[2]} // as the command line has it
	}
	if len(c.args) != 2 {
		return c.usagef("expected a unit and the number of a run")
	}
	n, err := strconv.ParseInt(c.args[1], 10, 64)
	if err != nil || n < 1 {
		return c.usagef("%q is not the number of a run", c.args[1])
	}
	unit, err := model.ParseUnitName(c.args[0])
	if err != nil {
		return misuse{err}
	}
	if c.ran == nil {
		return errors.New(`the world isn't kept after runs: "keep-runs" has to come before them`)
	}
	m, err := c.model()
	if err != nil {
		return err
	}
	i := c.ran.find(ranUnit{m.UUID(), unit}, n)
	if i < 0 {
		return c.notKept(unit, n, m.UUID())
	}
	c.stop(syscall.SIGTERM)
	c.endHooks()
	if err := c.goBack(c.ran.all[i].kept); err != nil {
		return errors.Annotatef(err, "cannot go back to run %d of %s", n, unit)
	}
	if c.ran.seen, err = c.newestRuns(); err != nil {
		return err
	}
	return c.dropRuns(i + 1)
}

// find is the index of the time when a run of a unit first ended, of the newest unit of that name
// that has such a run: one that has failed ends again when it is skipped. -1: there is none.
func (k *keptRuns) find(unit ranUnit, n int64) int {
	found, id := -1, ""
	for i, r := range slices.Backward(k.all) {
		if once := r.ended[unit]; once.run == n && (found < 0 || once.id == id) {
			found, id = i, once.id
		}
	}
	return found
}

// notKept is the error of a run after which the world wasn't kept.
func (c *call) notKept(unit model.UnitName, n int64, uuid string) error {
	first, last := int64(0), int64(0)
	for _, r := range c.ran.all {
		if once, is := r.ended[ranUnit{uuid, unit}]; is {
			if last = once.run; first == 0 {
				first = last
			}
		}
	}
	there := "it wasn't after any of its runs"
	if first > 0 {
		there = fmt.Sprintf("it was after some of its runs from %d to %d", first, last)
	}
	return errors.Errorf("the world wasn't kept after run %d of %s; %s", n, unit, there)
}
