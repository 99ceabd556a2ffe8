package machine

import (
	"maps"
	"reflect"
	"slices"
	"sync"

	"github.com/unitd/unitd/names"
)

// directory has the names of all models of an agent: units of one find those of the
// others. It is safe for use by many goroutines.
type directory struct {
	tunnels *tunnels

	mu      sync.Mutex
	tables  map[string]names.Model // by the model's UUID
	wirings map[string]*wiring
}

func newDirectory(t *tunnels) *directory {
	return &directory{tunnels: t, tables: map[string]names.Model{}, wirings: map[string]*wiring{}}
}

// enter has a model's wiring told of what changes.
func (d *directory) enter(uuid string, w *wiring) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.wirings[uuid] = w
}

// leave forgets a model with its names.
func (d *directory) leave(uuid string) {
	d.tunnels.drop(uuid)
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.wirings, uuid)
	if _, ok := d.tables[uuid]; ok {
		delete(d.tables, uuid)
		d.pokeOthers(uuid)
	}
}

// tell has what a model's names are now.
func (d *directory) tell(uuid string, table names.Model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if reflect.DeepEqual(d.tables[uuid], table) {
		return
	}
	d.tables[uuid] = table
	d.pokeOthers(uuid)
}

func (d *directory) pokeOthers(uuid string) {
	for other, w := range d.wirings {
		if other != uuid && w.active.Load() {
			w.poke()
		}
	}
}

// all are the names of all models.
func (d *directory) all() []names.Model {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Collect(maps.Values(d.tables))
}
