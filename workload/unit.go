package workload

import (
	"context"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"
	"golang.org/x/sync/errgroup"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
)

// Options are what the containers of a unit need of their agent.
type Options struct {
	Cells  *isolate.Cells
	Images *oci.Cache
	Clock  clock.Clock // of back-off
	Disk   durable.Disk
	Log    *slog.Logger
	// Pebble finds the host's Pebble, as FindPebble; where that is NotFound, images
	// must have one.
	Pebble func() (string, error)
	// Environ is asked at each start of a container for more variables, NAME=value,
	// that it is to have; nil: there are none.
	Environ func() []string
	// Changed is called whenever States has changed, by any goroutine.
	Changed func()
	// Held says of a container that it is held: it isn't started once it has ended, nor
	// ended because it isn't alive; nil: none is. Whoever has it say no again calls
	// Release.
	Held func(container string) bool
	// Read is called when notices were read that may have changed nothing, by any
	// goroutine; see Settled. Nil: nobody wants to know.
	Read func()
	// Mask hides the values of secrets in what people are told; nil: there are none.
	Mask func(string) string
	// Told is up to which of its events the charm was told of a container; see
	// pebble.WatchOptions.
	Told func(container string) time.Time
}

// Unit is the workload containers of a unit. It is safe for use by many
// goroutines.
type Unit struct {
	Options

	// setting is held by who changes which containers there are; mu, which is held
	// for moments, guards what follows.
	setting    sync.Mutex
	mu         sync.Mutex
	containers map[string]*container
}

// New has no containers yet.
func New(o Options) *Unit {
	o.Disk = o.Cells.Through(o.Disk)
	return &Unit{Options: o, containers: map[string]*container{}}
}

// Set has those containers run, beside the unit's cell, and no others: who isn't
// among them is ended and removed. What is equal to one that there is goes on. It
// doesn't wait for anything to start.
func (u *Unit) Set(ctx context.Context, with *isolate.Cell, want []Container) error {
	u.setting.Lock()
	defer u.setting.Unlock()
	gone, left := u.part(with, want)
	for _, c := range left {
		c.leave()
	}
	if err := u.end(ctx, gone); err != nil {
		return errors.Trace(err)
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, w := range want {
		if u.containers[w.Name] == nil {
			u.containers[w.Name] = u.begin(w, with)
		}
	}
	return nil
}

// part takes out of the containers those that are to end, and those that go on
// beside another cell.
func (u *Unit) part(with *isolate.Cell, want []Container) (gone, left []*container) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, c := range u.containers {
		i := slices.IndexFunc(want, func(w Container) bool { return w.Name == name })
		switch {
		case i < 0 || !reflect.DeepEqual(want[i], c.Container):
			gone = append(gone, c)
		case c.with != with:
			left = append(left, c)
		default:
			continue
		}
		delete(u.containers, name)
	}
	return gone, left
}

// States are those of the containers, by name.
func (u *Unit) States() []State {
	u.mu.Lock()
	defer u.mu.Unlock()
	var all []State
	for _, c := range u.containers {
		all = append(all, c.now())
	}
	slices.SortFunc(all, func(a, b State) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Coming says whether a container is about to be up, as far as is known: its image
// is being fetched, or its Pebble is to answer, and nothing is wrong.
func (u *Unit) Coming() bool {
	return slices.ContainsFunc(u.States(), func(s State) bool {
		return s.Phase == Fetching && s.Fault == "" || s.Phase == Starting && s.Pebble.Fault == ""
	})
}

// Release starts a container again that was held, at once. Not to be held is no
// error.
func (u *Unit) Release(name string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if c := u.containers[name]; c != nil && slices.Contains([]Phase{Waiting, Stopped}, c.now().Phase) {
		c.hurry()
	}
}

func (u *Unit) isHeld(name string) bool { return u.Held != nil && u.Held(name) }

// Close lets go of the containers, which go on.
func (u *Unit) Close() {
	u.setting.Lock()
	defer u.setting.Unlock()
	u.mu.Lock()
	all := slices.Collect(maps.Values(u.containers))
	clear(u.containers)
	u.mu.Unlock()
	for _, c := range all {
		c.leave()
	}
}

// Remove ends all containers and removes what there is of them, but for the
// directories that were given for them. Those that nobody wants any more are
// Cells' matter.
func (u *Unit) Remove(ctx context.Context) error {
	return errors.Trace(u.Set(ctx, nil, nil))
}

// end ends containers side by side, and removes what there is of them.
func (u *Unit) end(ctx context.Context, all []*container) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, c := range all {
		group.Go(func() error {
			c.leave()
			cell, err := u.Cells.Find(c.Key)
			if err == nil {
				err = cell.Stop(ctx, Grace)
			}
			if err == nil || errors.Is(err, errors.NotFound) { // one that was refused has left its directory
				err = u.Cells.Remove(c.Key)
			}
			return errors.Annotatef(err, "cannot end container %s", c.Name)
		})
	}
	return errors.Trace(group.Wait())
}
