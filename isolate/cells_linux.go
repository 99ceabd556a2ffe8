package isolate

import (
	"context"
	stderrors "errors"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/model"
)

// Cells are the cells of one agent. It is safe for use by many goroutines of one
// process; no two processes may open cells in the same directory at once.
type Cells struct {
	// Dir has a directory for each cell, and the record of their network.
	Dir string
	// Program is this program, whose main function calls Main.
	Program string
	// HostUsers has cells of an agent that is root without users of their own, as where
	// the kernel or the file system doesn't let them have any: root inside is the host's.
	HostUsers bool
	// Closed has cells reach the host and each other, and nothing beyond.
	Closed bool
	// Seed is a seed that new machines begin with, see Gather; empty: they begin with nothing.
	Seed string
	// Disk does what lasts of workload containers, so that a test can stop at each
	// step.
	Disk durable.Disk

	turns    turns
	mu       sync.Mutex
	services services
	// children are the first programs that this process has started, by the key of
	// their container: how they end is told to no other.
	children map[string]*child
	// roots are the directories below the overlays of cells, by their keys; see holdRoot.
	roots  map[string]*os.File
	beyond beyond
	// proposed is Propose's.
	proposed  netip.Prefix
	tunnelled tunnelled
}

// idsFor are those of a new cell that is in a user name space, or isn't.
func (c *Cells) idsFor(user bool) IDs {
	if !user {
		return IDs{}
	}
	ids, _ := c.IDs()
	return ids
}

// Open is the cell with that key, a path of two names below Dir: the one that
// runs, or one made anew over what is left of it. A workload container is made
// anew over nothing. The error is ErrNoRights where this user can't have what the
// specification asks for.
func (c *Cells) Open(ctx context.Context, key string, s Spec) (*Cell, error) {
	defer c.turns.take(key)()
	c.mu.Lock()
	defer c.mu.Unlock()
	cell, err := c.recorded(key)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return nil, errors.Trace(err)
	}
	if err == nil && cell.record.ID != s.ID {
		if err := c.clear(key); err != nil {
			return nil, errors.Trace(err)
		}
		cell.record = record{}
	}
	if s.First != nil {
		return cell, errors.Trace(cell.openFirst(ctx, s))
	}
	if err := c.holdRoot(key, s.Root); err != nil {
		return nil, errors.Annotatef(err, "cannot isolate %s", s.Name)
	}
	if cell.record.Ready && cell.record.Layout == layout && cell.alive() {
		if groups := cell.Groups(); groups != "" {
			runner.SweepWithin(groups) // of programs that a former agent has run
		}
		return cell, nil
	}
	if err := cell.stop(); err != nil {
		return nil, errors.Trace(err)
	}
	if s.isSystem() {
		done, err := c.mayBoot(ctx)
		if err != nil {
			return nil, errors.Trace(err)
		}
		defer done()
	}
	if err := cell.start(ctx, s); err != nil {
		_ = cell.stop()
		return nil, errors.Annotatef(err, "cannot isolate %s", s.Name)
	}
	return cell, nil
}

// Find is the cell with that key as it is: it may have ended, and nothing is
// started. The error is NotFound where there is nothing of it.
func (c *Cells) Find(key string) (*Cell, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	cell, err := c.recorded(key)
	if err == nil {
		err = cell.settled()
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	return cell, nil
}

// recorded is the cell with that key, by its record. Where there is none, it is
// an empty one, and the error is NotFound.
func (c *Cells) recorded(key string) (*Cell, error) {
	cell := &Cell{cells: c, key: key, dir: filepath.Join(c.Dir, key)}
	err := readOfBoot(cell.recordPath(), &cell.record)
	if os.IsNotExist(errors.Cause(err)) {
		return cell, errors.NotFoundf("cell %s", key)
	}
	if p := c.children[key]; p != nil && cell.record.Pid == p.process.Pid && cell.record.Began == p.began {
		cell.first = p
	}
	return cell, errors.Trace(err)
}

// Remove ends all that runs in a cell and removes what there is of it; workload
// containers of the unit stay. Not to be there is no error.
func (c *Cells) Remove(key string) error {
	defer c.turns.take(key)()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.remove(key))
}

// Clear removes the cell of a unit and the workload containers of that unit; that
// of a container, it alone.
func (c *Cells) Clear(key string) error {
	defer c.turns.take(key)()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Trace(c.clear(key))
}

func (c *Cells) clear(key string) error {
	keys, err := c.Keys()
	if err != nil {
		return errors.Trace(err)
	}
	for _, k := range keys {
		if cell, container := CutContainer(k); container != "" && cell == key {
			if err := c.remove(k); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return errors.Trace(c.remove(key))
}

func (c *Cells) remove(key string) error {
	cell, err := c.recorded(key)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	if err == nil {
		if cell.record.System { // whose services have nothing left to do
			_ = cell.kill()
		}
		if err := cell.stop(); err != nil {
			return errors.Trace(err)
		}
	}
	if cell.record.First || err != nil {
		if err := cell.removeFirst(); err != nil {
			return errors.Trace(err)
		}
		delete(c.children, key)
	}
	c.letRoot(key)
	b, err := openBridge(c.Disk, c.Dir)
	if err != nil {
		return errors.Trace(err)
	}
	if err := b.forget(key); err != nil {
		return errors.Trace(err)
	}
	clean := func() error { return removeAll(c.disk(), cell.dir) }
	if _, container := CutContainer(key); container == "" {
		// Of a machine that may be a whole system's files, and nobody else has its turn.
		err = c.apart(clean)
	} else {
		err = clean()
	}
	if err != nil {
		return errors.Annotate(err, "cannot remove what a unit has changed")
	}
	_ = os.Remove(filepath.Dir(cell.dir)) // once the model has none
	_ = os.Remove(c.Dir)
	return nil
}

// removeAll is os.RemoveAll also for directories that their owner has closed, as
// overlays do.
func removeAll(disk durable.Disk, dir string) error {
	if disk.RemoveAll(dir) == nil {
		return nil
	}
	_ = disk.FreeTree(dir) // what can't be freed is what the second try fails at
	return errors.Trace(disk.RemoveAll(dir))
}

// Keys are those of all cells that there is something of, in order; those of
// workload containers too, which CutContainer tells.
func (c *Cells) Keys() ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(c.Dir, "*", "*"))
	var keys []string
	for _, p := range paths {
		rel, err := filepath.Rel(c.Dir, p)
		if err != nil {
			return nil, errors.Trace(err)
		}
		// One without a record was begun, or not removed to the end.
		if st, err := os.Lstat(p); err == nil && st.IsDir() {
			keys = append(keys, rel)
		}
	}
	return keys, errors.Trace(err)
}

// Halt ends all that runs in the cells, as if their host were shut down, and
// takes their network away. What units have changed stays, and Open starts a cell
// again: another boot of it. Nobody may open cells in the same directory
// meanwhile.
func (c *Cells) Halt() error { return c.halt(false) }

// Pause is Halt with the promise that what has run is nobody's loss: when a cell
// is started again, that is no other boot.
func (c *Cells) Pause() error { return c.halt(true) }

// Copied has cells whose directory was restored from a copy that was made while they ran be as Pause
// leaves them: nothing runs of them, and their next start isn't a boot.
func (c *Cells) Copied() error {
	keys, err := c.Keys()
	if err != nil {
		return errors.Trace(err)
	}
	for _, key := range keys {
		cell, err := c.recorded(key)
		if errors.Is(err, errors.NotFound) {
			continue
		}
		if err == nil {
			cell.record.Paused, cell.record.Pid = true, 0
			err = cell.save()
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func (c *Cells) halt(paused bool) error {
	keys, err := c.Keys()
	if err != nil || len(keys) == 0 {
		return errors.Trace(err)
	}
	failed := make([]error, len(keys)) // one that can't be ended leaves the others no reason to run
	var all sync.WaitGroup
	for i, key := range keys { // machines with systemd take their time
		all.Go(func() { failed[i] = c.haltOne(key, paused) })
	}
	all.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	b, err := openBridge(c.Disk, c.Dir)
	if err == nil {
		err = b.takeDown()
	}
	return stderrors.Join(append(failed, errors.Trace(err))...)
}

func (c *Cells) haltOne(key string, paused bool) error {
	defer c.turns.take(key)()
	c.mu.Lock()
	defer c.mu.Unlock()
	cell, err := c.recorded(key)
	if errors.Is(err, errors.NotFound) {
		return nil // nothing of it has ever run
	}
	if err != nil {
		return errors.Trace(err)
	}
	if err := cell.stop(); err != nil {
		return errors.Trace(err)
	}
	cell.record.Paused = paused
	return errors.Trace(cell.save())
}

// Try says whether this user could have a cell of that mode, and what it would
// lack, in a line; it makes one, with its network, and removes it. The error is
// ErrNoRights if not.
func (c *Cells) Try(ctx context.Context, s Spec) (lost string, err error) {
	a, err := c.Attempt(ctx, s)
	return a.Lost, errors.Trace(err)
}

// Attempt is Try, which says more of what it has made.
func (c *Cells) Attempt(ctx context.Context, s Spec) (Attempt, error) {
	dir, err := os.MkdirTemp(filepath.Dir(c.Dir), "try-isolate-")
	if err != nil {
		return Attempt{}, errors.Trace(err)
	}
	trial := &Cells{Dir: filepath.Join(dir, "cells"), Program: c.Program}
	defer trial.Close()
	defer removeAll(trial.disk(), dir)
	s.asRoot = s.Mode == model.IsolateOn // who isn't has no network of its own
	if s.Root == "" && os.Geteuid() != 0 {
		if err := mayHold(dir); err != nil {
			return Attempt{}, errors.Annotate(err, "cannot isolate units")
		}
		// What can be had over one directory can be over the host's, too, which take
		// seconds to look through.
		s.Root = filepath.Join(dir, "root")
		if err := os.Mkdir(s.Root, 0o755); err != nil {
			return Attempt{}, errors.Trace(err)
		}
	}
	s.Data, s.Client = "", ""
	const key = "try/it"
	cell, err := trial.Open(ctx, key, s)
	if removed := trial.Remove(key); err == nil { // also what a failure has left
		err = removed
	}
	if err != nil {
		return Attempt{}, errors.Trace(err)
	}
	return Attempt{Lost: strings.Join(cell.record.Lost, "; "), OwnUsers: cell.record.Mapped.Many()}, nil
}

// errNoNetwork is the refusal of what only root can have.
var errNoNetwork = errors.WithType(errors.New("a network of its own for each unit needs an agent that runs as root (--isolate=files goes without)"), ErrNoRights)

// What cells can lack.
const (
	lostNetwork = "units share the host's network and its ports"
	lostOwners  = "files belong to one user inside"
)

// lostIDs is what the cell lacks for want of ids, and why.
func (c *Cell) lostIDs() []string {
	if !c.record.single() {
		return nil
	}
	lost := lostOwners
	if _, why := c.cells.IDs(); why != nil {
		lost += ", as " + why.Error()
	}
	return []string{lost}
}

// At is the cell in a directory, for who isn't its agent: to run programs in it.
// The error is NotFound where there is none.
func At(dir, program string) (*Cell, error) {
	c := &Cell{cells: &Cells{Program: program}, dir: dir}
	if err := readOfBoot(c.recordPath(), &c.record); err != nil {
		if os.IsNotExist(errors.Cause(err)) {
			return nil, errors.NewNotFound(nil, "the unit has no cell")
		}
		return nil, errors.Trace(err)
	}
	if !c.record.Ready || !c.alive() {
		return nil, errors.NewNotFound(nil, "the unit's cell has ended: an agent makes it anew when it starts")
	}
	return c, nil
}
