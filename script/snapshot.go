package script

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/script/trees"
)

// snapshotCommands keep worlds and go back to them.
func snapshotCommands() []Cmd {
	return []Cmd{
		{Name: "snapshot", Args: "NAME", Summary: "keep the model with its units, their files, the time and the faults to come, for restore; what hooks have left running ends (Linux)", run: (*call).snapshot},
		{Name: "restore", Args: "NAME", Summary: "make the model and its units as they were at that snapshot, any number of times; what hooks have left running ends (Linux)", run: (*call).restore},
		{Name: "keep-runs", Args: "[off]", Summary: "from here on keep the world as it is after each hook run, for rewind: the newest 50 times; off: no longer, and drop them", run: (*call).keepRuns},
		{Name: "rewind", Args: "UNIT N", Summary: "make the whole world as it was right after the unit's run N; keep-runs has to have been on", run: (*call).rewind},
		{Name: "diff", Summary: "show what the last settle, advance or run-hooks changed: statuses, ports, databags, leader settings, state, storage, secrets, units and relations", run: (*call).diff},
	}
}

// kept is a world as it was when a snapshot was made.
type kept struct {
	dir     string // has a copy of the store
	files   *trees.Moment
	crash   bool // the files are what a crash would leave
	now     time.Time
	running bool // an agent ran, with these faults to come:
	faults  []lab.Fault
	twice   bool
	told    map[string]int // world.toldTwice
	order   *uint64
	change  *change
	probes  map[string]bool
	early   []saying
	held    map[container]bool
	box     box
}

// snapshotName is what a snapshot can be called: "base", or "base/with-db".
var snapshotName = pattern.New(`^[\w.+-]+(/[\w.+-]+)*$`)

func (c *call) snapshot() error {
	if len(c.args) != 1 || !snapshotName.MatchString(c.args[0]) {
		return c.usagef("expected a name of letters, digits and any of . _ + - /")
	}
	name := c.args[0]
	if c.kept[name] != nil {
		return misuse{fmt.Errorf("there is a snapshot %q already", name)}
	}
	c.snapshots++
	k := &kept{dir: filepath.Join(c.ts.Getenv("WORK"), ".snapshots", fmt.Sprint(c.snapshots)), now: c.clock.Now()}
	if err := c.keep(k); err != nil {
		_ = c.drop(k) // the first error says more
		return errors.Annotatef(err, "cannot make snapshot %q", name)
	}
	if c.kept == nil {
		c.kept = map[string]*kept{}
	}
	c.kept[name] = k
	return nil
}

// keep fills k, whose directory is new. The store is copied before the agent is
// stopped, which gives up its leaderships then, and the files after that, when
// nobody writes to them; the world goes on as one that was restored.
func (c *call) keep(k *kept) error {
	if err := c.keepState(k); err != nil {
		return err
	}
	for _, line := range c.endedByPause(c.ctx) {
		c.printf("%s\n", line)
	}
	c.stop(syscall.SIGTERM)
	if err := machine.NewCells(c.dir, "").Pause(); err != nil {
		return err
	}
	c.endHooks()
	if err := c.keepFiles(k, runtime.GOOS != "linux"); err != nil {
		return err
	}
	err := c.goBack(k)
	k.happened()
	return err
}

// happened has the script count no more on the faults that are to come: whoever goes back has
// been in their future.
func (k *kept) happened() {
	for i := range k.faults {
		k.faults[i].Due = false
	}
}

// keepState fills k with all but files: what is to happen, and the store.
func (w *world) keepState(k *kept) error {
	if _, err := w.running(); err == nil {
		answer, err := w.tell(lab.Request{})
		if err != nil {
			return err
		}
		switch {
		case len(answer.Hung) > 0:
			return errors.Errorf("%s stands still in its hook; \"release\" lets it go", answer.Hung[0])
		case answer.Lost:
			return errors.New("the store is out of the agent's reach")
		case answer.Full:
			return errors.New("the disk is full")
		}
		k.running, k.faults = true, answer.Armed
	}
	k.order, k.twice, k.change, k.told, k.box = w.chosen, w.twice, w.change, maps.Clone(w.toldTwice), w.box
	k.early = slices.Clone(w.early)
	k.probes, k.held = maps.Clone(w.probes), maps.Clone(w.held)
	maps.DeleteFunc(k.held, func(one container, _ bool) bool { return w.hung[one] }) // it ends with all others
	if err := os.MkdirAll(k.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	file, ok := w.store.(storeFile)
	if !ok {
		return errNoStoreFile
	}
	return file.CopyTo(w.ctx, filepath.Join(k.dir, lab.StoreName))
}

// storeFile is a store that can be copied to another file.
type storeFile interface {
	CopyTo(ctx context.Context, path string) error
}

// errNoStoreFile is that a world can't be kept whose store isn't one.
const errNoStoreFile = errors.ConstError("the world's store is no file, and can't be kept")

// keepFiles fills k with the world's files, but for the store. changing says that somebody may write
// to them meanwhile.
func (w *world) keepFiles(k *kept, changing bool) (err error) {
	if w.trees == nil {
		w.trees = trees.New(w.dir, filepath.Join(w.work, ".snapshots", "files"))
	}
	k.files, err = w.trees.Keep(changing, func(name string) bool { return strings.HasPrefix(name, lab.StoreName) })
	k.crash = changing
	return errors.Annotate(err, "cannot copy the world's files")
}

// drop drops what was kept.
func (w *world) drop(k *kept) error {
	err := charmdir.RemoveTree(durable.Disk{}, k.dir)
	if k.files == nil {
		return err
	}
	return cmp.Or(w.trees.Forget(k.files), err)
}

func (c *call) restore() error {
	if len(c.args) != 1 {
		return c.usagef("expected the name of a snapshot")
	}
	k := c.kept[c.args[0]]
	if k == nil {
		there := "none was made"
		if len(c.kept) > 0 {
			there = "there are " + strings.Join(slices.Sorted(maps.Keys(c.kept)), ", ")
		}
		return errors.Errorf("there is no snapshot %q; %s", c.args[0], there)
	}
	c.stop(syscall.SIGTERM)
	c.endHooks()
	if err := c.goBack(k); err != nil {
		return errors.Annotatef(err, "cannot restore snapshot %q", c.args[0])
	}
	return c.keepRunsAnew()
}

// endHooks kills what hooks have left running, on purpose or not: it belongs to another course of things, and would write
// to this one's files. The agent has ended. It does nothing but on Linux.
func (w *world) endHooks() {
	ctx := context.WithoutCancel(w.ctx)
	infos, _ := w.models.Models(ctx) // a store that can't be read has nobody to run hooks for
	for _, info := range infos {
		runner.EndLeftover(ctx, "JUJU_MODEL_UUID="+info.UUID)
	}
}

// goBack makes the world, whose agent has ended, what was kept.
func (c *call) goBack(k *kept) error {
	err := c.store.Close()
	if err == nil {
		err = machine.NewCells(c.dir, "").Pause() // nobody knows of them once their records are others
	}
	if err == nil && runtime.GOOS != "linux" { // what hooks have left running isn't found there, and must not write to files of this course
		err = charmdir.RemoveTree(durable.Disk{}, c.dir)
	}
	if err == nil {
		err = c.trees.Restore(k.files)
	}
	if err == nil {
		err = trees.CopyFile(filepath.Join(k.dir, lab.StoreName), filepath.Join(c.dir, lab.StoreName))
	}
	if err == nil && k.crash {
		err = errors.Annotate(machine.NewCells(c.dir, "").Copied(), "cannot restore the machines of isolated units")
	}
	c.clock = lab.NewClock(k.now)
	c.ts.Setenv(nowVariable, k.now.Format(time.RFC3339Nano))
	c.chosen, c.world.twice, c.change, c.toldTwice, c.box = k.order, k.twice, k.change, maps.Clone(k.told), k.box
	c.early = slices.Clone(k.early)
	c.probes, c.held = maps.Clone(k.probes), maps.Clone(k.held)
	clear(c.hung)
	// Also after an error: a world that can't be looked at can't be taken down.
	if oerr := c.open(); err == nil {
		err = oerr
	}
	if err != nil || !k.running {
		return errors.Trace(err)
	}
	if err := c.start(); err != nil {
		return err
	}
	for _, f := range k.faults {
		if _, err := c.tell(lab.Request{Fault: &f}); err != nil {
			return err
		}
	}
	return nil
}

func (c *call) diff() error {
	if err := c.none(); err != nil {
		return err
	}
	if c.change == nil {
		return errors.New("nothing was waited for yet: settle, advance and run-hooks change something")
	}
	c.printf("") // nothing changed is nothing, not what the last command has
	for _, d := range c.change.after.Since(c.change.before) {
		c.printf("%s\n", d)
	}
	return nil
}
