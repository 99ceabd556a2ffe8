package machine

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/workload"
)

// Containers are the workload containers of an agent's units, for a test world: they
// live in the host's time, whatever clock the agent has. With Config.Containers no
// unit is let in by Config.Gate, and nothing counts as settled, before they have come
// up and their Pebbles have told all that they have to tell. It is safe for use by
// many goroutines; the zero value is ready.
type Containers struct {
	mu   sync.Mutex
	pods map[podKey]*workload.Unit
	held map[containerKey]bool
	// fetched counts how often more of an image was there.
	fetched atomic.Int64
}

// podKey is a unit of a model, by its UUID, and containerKey a container of it.
type podKey struct {
	model string
	unit  model.UnitName
}

type containerKey struct {
	podKey
	name string
}

// Hold has a container not be started once it has ended, or while it has never run; or it has it
// started at once.
// That a unit has no such container, or has none yet, is no error.
func (c *Containers) Hold(uuid string, unit model.UnitName, name string, hold bool) {
	key := containerKey{podKey{uuid, unit}, name}
	c.mu.Lock()
	if c.held == nil {
		c.held = map[containerKey]bool{}
	}
	c.held[key] = hold
	pod := c.pods[key.podKey]
	c.mu.Unlock() // before the pod is asked, which asks what is held
	if pod != nil && !hold {
		pod.Release(name)
	}
}

func (c *Containers) isHeld(key containerKey) bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.held[key]
}

// Coming names those that aren't there yet, as "app/0's web (starting)".
func (c *Containers) Coming() []string {
	c.mu.Lock()
	pods := maps.Clone(c.pods)
	c.mu.Unlock()
	var all []string
	for key, pod := range pods {
		for _, s := range pod.States() {
			if s.Phase == workload.Fetching || s.Phase == workload.Starting {
				all = append(all, string(key.unit)+"'s "+s.Name+" ("+string(s.Phase)+")")
			}
		}
	}
	slices.Sort(all)
	return all
}

// Fetched is a number that grows as long as images are being fetched for them.
func (c *Containers) Fetched() int64 { return c.fetched.Load() }

// images is the cache of images in a directory; c may be nil.
func (c *Containers) images(dir string, disk durable.Disk) *oci.Cache {
	cache := &oci.Cache{Dir: dir, Disk: disk}
	if c != nil {
		cache.Progress = func(oci.Progress) { c.fetched.Add(1) }
	}
	return cache
}

// enter has the containers of a unit among those that are waited for, until leave is
// called.
func (c *Containers) enter(key podKey, pod *workload.Unit) (leave func()) {
	if c == nil {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.pods == nil {
		c.pods = map[podKey]*workload.Unit{}
	}
	c.pods[key] = pod
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.pods, key)
	}
}

// settled says whether nothing is on its way from those of a model's units.
func (c *Containers) settled(ctx context.Context, uuid string) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	pods := maps.Clone(c.pods)
	c.mu.Unlock()
	for key, pod := range pods {
		if key.model == uuid && !pod.Settled(ctx) {
			return false
		}
	}
	return true
}

func (u *unit) podKey() podKey { return podKey{u.model.UUID(), u.name} }
