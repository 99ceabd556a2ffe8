package workload

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
)

// errNoImage marks that the image of a container can't be had.
const errNoImage = errors.ConstError("no image")

// container is the supervision of one container.
type container struct {
	Container
	unit   *Unit
	with   *isolate.Cell
	cancel context.CancelFunc
	over   sync.WaitGroup
	wake   chan struct{} // ends a pause; has room for one
	look   chan struct{} // has the watcher look; has room for one
	news   chan struct{} // its Pebble has told something; has room for one

	mu    sync.Mutex
	state State
	// cell is the one that has run last. read is up to where Pebble's notices were
	// read.
	cell *isolate.Cell
	read time.Time
	// unkept is what was logged last of limits that nothing keeps.
	unkept []isolate.Unkept
}

// begin supervises a container until it is left.
func (u *Unit) begin(spec Container, with *isolate.Cell) *container {
	ctx, cancel := context.WithCancel(context.Background())
	c := &container{
		Container: spec, unit: u, with: with, cancel: cancel, wake: make(chan struct{}, 1), look: make(chan struct{}, 1),
		news:  make(chan struct{}, 1),
		state: State{Name: spec.Name, Phase: Fetching},
	}
	c.over.Go(func() { c.circle(ctx) })
	c.over.Go(func() {
		pebble.Watch(ctx, pebble.WatchOptions{
			Socket: spec.Socket(), After: func() time.Time { return u.Told(spec.Name) }, Now: u.Clock.Now, Look: c.look,
			Read: c.noteRead,
		}, c.heard)
	})
	return c
}

// heard takes what Pebble says.
func (c *container) heard(s pebble.State) {
	before, at := c.now(), c.unit.Clock.Now()
	events := stamped(s.Events, before.Events, at)
	if s.Fault != "" && s.Fault != before.Pebble.Fault {
		c.unit.Log.Warn("the Pebble of a container can't be asked", "container", c.Name, "reason", s.Fault)
	}
	s.Events = nil
	c.change(func(now *State) { now.Pebble, now.Events = s, events })
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// stamped are events with when they were first seen: those of before then, the
// others at a time. The list is a new one, as others read the former.
func stamped(events []pebble.Event, before []Event, at time.Time) []Event {
	all := make([]Event, 0, len(events))
	for _, e := range events {
		i := slices.IndexFunc(before, func(b Event) bool { return b.Event == e })
		if i >= 0 {
			all = append(all, before[i])
			continue
		}
		all = append(all, Event{Event: e, Seen: at})
	}
	return all
}

// leave ends the supervision, and not the container.
func (c *container) leave() {
	c.cancel()
	c.over.Wait()
}

func (c *container) now() State {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.state
	if s.Phase == Running && s.Pebble.Boot == "" {
		s.Phase = Starting
	}
	return s
}

func (c *container) change(how func(*State)) {
	c.mu.Lock()
	how(&c.state)
	c.mu.Unlock()
	c.unit.Changed()
}

// hurry ends the pause that a container makes, if it does.
func (c *container) hurry() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// circle has the container run, again and again.
func (c *container) circle(ctx context.Context) {
	var b backoff
	for ran := false; ctx.Err() == nil; {
		if c.unit.isHeld(c.Name) {
			c.change(func(s *State) { s.Phase, s.Ready, s.Until = Stopped, NotReady, time.Time{} })
			if c.unit.isHeld(c.Name) { // whoever releases it sees now that it has stopped
				c.wait(ctx, nil)
			}
			continue
		}
		began := c.unit.Clock.Now()
		cell, image, found, err := c.start(ctx)
		if err != nil {
			if ctx.Err() == nil {
				c.pause(ctx, b.failed(), errors.Cause(err).Error(), err)
			}
			continue
		}
		c.change(func(s *State) {
			c.cell = cell
			if !found {
				s.Pebble.Fault = "" // that of the one before
			}
			s.Phase, s.Fault, s.NoImage, s.Until, s.Lost = Running, "", false, time.Time{}, cell.Lost()
			if ran {
				s.Restarts++
			}
		})
		if !found {
			c.sayUnkept(cell.Unkept())
		}
		if !found && c.unit.isHeld(c.Name) { // since it has been begun with
			_ = cell.Stop(ctx, Grace) // its end is told by Wait
		}
		ran = true
		how, ended := c.live(ctx, cell, found)
		image.Release()
		if ended && !c.unit.isHeld(c.Name) {
			c.pause(ctx, b.ended(c.unit.Clock.Now().Sub(began)), how, nil)
		}
	}
}

// sayUnkept logs the limits that nothing keeps, once for as long as they are the same.
func (c *container) sayUnkept(all []isolate.Unkept) {
	if slices.Equal(all, c.unkept) {
		return
	}
	c.unkept = all
	for _, one := range all {
		c.unit.Log.Warn("a limit of a container can't be kept, and doesn't hold", "container", c.Name, "limit", one.Limit, "err", one.Why)
	}
}

// start has the container run: the one that does, or another one; found says that
// it was there.
func (c *container) start(ctx context.Context) (cell *isolate.Cell, image *oci.Image, found bool, err error) {
	c.change(func(s *State) { s.Phase, s.Until = Fetching, time.Time{} })
	fetched, err := c.images().Fetch(ctx, c.Image, c.Digest)
	if err != nil {
		return nil, nil, false, errors.Annotatef(errors.WithType(err, errNoImage), "cannot get the image of container %s", c.Name)
	}
	defer func() {
		if err != nil {
			fetched.Release()
		}
	}()
	image = fetched
	program, err := c.program(image)
	if err != nil {
		return nil, nil, false, errors.Trace(err)
	}
	want := c.Container
	if c.unit.Environ != nil {
		want.Env = slices.Concat(want.Env, c.unit.Environ())
	}
	spec, err := want.spec(image, c.with, program)
	if err != nil {
		return nil, nil, false, errors.Trace(err)
	}
	if err := c.makeScratch(spec.First); err != nil {
		return nil, nil, false, errors.Trace(err)
	}
	c.boundLog()
	if old, err := c.unit.Cells.Find(c.Key); err == nil {
		found = old.Running() && old.Joined(c.with)
	}
	c.change(func(s *State) {
		if s.Phase = Starting; !found {
			s.Ready = NotReady
		}
	})
	if cell, err = c.unit.Cells.Open(ctx, c.Key, spec); err != nil {
		return nil, nil, false, errors.Trace(err)
	}
	c.hasten()
	return cell, image, found, nil
}

// boundLog keeps the container's log from growing for ever.
func (c *container) boundLog() {
	if c.Log == "" {
		return
	}
	if err := bound(c.Log); err != nil {
		c.unit.Log.Warn("cannot shorten the log of a container", "container", c.Name, "err", err)
	}
}

// hasten has the watcher look.
func (c *container) hasten() {
	select {
	case c.look <- struct{}{}:
	default:
	}
}

// program is the host's path of the Pebble that the container gets.
func (c *container) program(image *oci.Image) (string, error) {
	path, err := c.unit.Pebble()
	if !errors.Is(err, errors.NotFound) {
		return path, errors.Trace(err)
	}
	if path = pebbleOf(image.Layers); path != "" {
		return path, nil
	}
	return "", errors.NewNotFound(nil, fmt.Sprintf("there is no Pebble for container %s: install one, or name it by %s", c.Name, PebbleVariable))
}

// makeScratch has the scratch directory there, for whom Pebble runs as.
func (c *container) makeScratch(f *isolate.First) error {
	disk, gid, mode := c.unit.Disk, f.GID, os.FileMode(0o755)
	if len(f.Groups) > 0 {
		gid, mode = f.Groups[0], 0o775|os.ModeSetgid
	}
	// The charm can write to the directory above.
	dir, leave, err := disk.Enter(filepath.Dir(c.Dir), 0o755, filepath.Base(c.Dir))
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	if err := c.own(dir, f.UID, gid); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(disk.Chmod(dir, mode))
}

// live waits until a container has ended, and says how; false: it is left.
func (c *container) live(ctx context.Context, cell *isolate.Cell, found bool) (how string, ended bool) {
	probing, stop := context.WithCancel(ctx)
	var probed sync.WaitGroup
	dead := ""
	probed.Go(func() {
		if dead = c.probe(probing, found); dead != "" {
			c.unit.Log.Warn("a container is restarted", "container", c.Name, "reason", dead)
			_ = cell.Stop(ctx, Grace) // its end is told by Wait
		}
	})
	probed.Go(func() { c.watchReady(probing) })
	exit, err := cell.Wait(ctx)
	stop()
	probed.Wait()
	if ctx.Err() == nil {
		c.ready(NotReady)
	}
	switch {
	case err != nil && ctx.Err() == nil:
		return "cannot wait for its end: " + err.Error(), true
	case err != nil:
		return "", false
	case dead != "":
		return dead, true
	}
	return c.why(exit), true
}

// why says for people how the container's Pebble has ended, and why as far as it has
// said so itself. Source: docs/spec/containers.md §4.4.
func (c *container) why(exit isolate.Exit) string {
	how := ending(exit)
	if !exit.Known || exit.Signal != 0 || exit.Code == 0 || exit.Code == 10 || exit.Code == 11 {
		return how
	}
	words := lastWords(c.Log)
	if words == "" {
		return how
	}
	if c.unit.Mask != nil {
		words = c.unit.Mask(words)
	}
	return how + ": " + words
}

// ending says for people how a Pebble has ended. Source: docs/spec/containers.md
// §4.4.
func ending(e isolate.Exit) string {
	switch {
	case !e.Known:
		return "it has ended"
	case e.Signal != 0:
		return fmt.Sprintf("it was ended by signal %d", e.Signal)
	case e.Code == 10:
		return "one of its services has ended, which ends the container"
	case e.Code == 11:
		return "one of its checks has failed, which ends the container"
	}
	return fmt.Sprintf("its Pebble has ended with exit code %d", e.Code)
}

// pause waits before the container is started again.
func (c *container) pause(ctx context.Context, d time.Duration, fault string, err error) {
	if err != nil {
		c.unit.Log.Error("cannot start a container", "container", c.Name, "err", err, "again-in", d)
	} else if ctx.Err() == nil {
		c.unit.Log.Info("a container has ended", "container", c.Name, "how", fault, "again-in", d)
	}
	if d <= 0 {
		return
	}
	noImage := errors.Is(err, errNoImage)
	// Before it is told, or a clock that is then set to its time would miss it.
	timer := c.unit.Clock.NewTimer(d)
	defer timer.Stop()
	c.change(func(s *State) {
		s.Phase, s.Ready, s.Fault, s.NoImage, s.Until = Waiting, NotReady, fault, noImage, c.unit.Clock.Now().Add(d)
	})
	c.wait(ctx, timer.Chan())
}

func (c *container) wait(ctx context.Context, until <-chan time.Time) {
	select {
	case <-until:
	case <-c.wake:
	case <-ctx.Done():
	}
}
