package machine

import (
	"context"
	"log/slog"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/names"
	"github.com/unitd/unitd/publish"
	"github.com/unitd/unitd/state"
)

// wiring sees to it that the isolated units of a model on this host are found: by
// their names, by the addresses of their applications, and by what is published of
// them on the host. It works beside the units' agents, and tells the model what it
// has done. It is poked as the storeroom is.
type wiring struct {
	model *state.Model
	cells *isolate.Cells
	// hosts says whether a unit is on this host; first: this is the agent that has
	// the models.
	hosts     func(state.UnitDoc) bool
	first     bool
	directory *directory
	log       *slog.Logger
	rounds

	forwards publish.Set
	said     map[string]string // what was logged of ports that aren't there
	active   atomic.Bool       // there is something to be found

	// resolvers is isolate.Resolvers, disk that of package durable.
	resolvers func(ownNet bool) (string, bool)
	disk      durable.Disk

	mu    sync.Mutex
	wired map[string]*wired
	// asked is what the resolvers were when they were asked last.
	asked [2]string
}

// wired is a root whose names are kept current: that of a unit's cell.
type wired struct {
	edit editor
	own  names.Own
	// has is what its hosts file was given last; failed is why that failed.
	has, failed string
	// record is a file on the host with that of the host's resolv.conf of which the
	// root's was made.
	record string
}

// editor changes a file in a root, as isolate.Cell.EditFile does.
type editor func(path string, edit func(string) string) error

func newWiring(c Config, m *state.Model, d *directory, log *slog.Logger, idle func()) *wiring {
	w := &wiring{
		model: m, cells: c.Cells, hosts: c.Machine.hosts, first: c.Machine == nil, directory: d, log: log,
		said: map[string]string{}, wired: map[string]*wired{}, resolvers: isolate.Resolvers, disk: c.Disk,
	}
	w.begin(c.Clock, idle)
	return w
}

// heed is poke for a change that may matter. Of units and machines it does only where
// there is something to be found: most models have nothing.
func (w *wiring) heed(c state.Change) {
	if c.Resync || c.Tunnels || len(c.Applications) > 0 || w.active.Load() && len(c.Units)+len(c.Machines) > 0 {
		w.poke()
	}
}

// run works until ctx ends; then nothing is published any more.
func (w *wiring) run(ctx context.Context) {
	w.directory.enter(w.model.UUID(), w)
	defer w.directory.leave(w.model.UUID())
	defer w.forwards.Close()
	w.work(ctx, w.round)
}

// enter has the names of a unit in a root before anything runs there, and keeps them
// current until leave. The key is that of the cell below the model's, the unit's tag
// for its own. net has the unit's own addresses, none where it shares the host's; short
// says whether it finds names as a pod does. record is a file of the agent's beside it.
func (w *wiring) enter(key string, unit model.UnitName, net isolate.Network, short bool, record string, edit editor) {
	w.mu.Lock()
	one := &wired{edit: edit, record: record, own: names.Own{Model: w.model.Name(), Unit: unit, Address: net.Address, IPv6: net.IPv6, Short: short}}
	w.wired[key] = one
	w.write(one, w.directory.all())
	w.mu.Unlock()
	w.poke()
}

// leave forgets a cell that goes.
func (w *wiring) leave(key string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.wired[key]; ok {
		delete(w.wired, key)
		w.poke()
	}
}

// write writes a hosts file and a resolv.conf, if they aren't as they should be; w.mu
// is held.
func (w *wiring) write(one *wired, all []names.Model) {
	lines, failed, err := names.Hosts(one.own, all), "", error(nil)
	if lines != one.has {
		err = one.edit("/etc/hosts", func(file string) string { return names.Edit(file, lines) })
		if err == nil && one.own.Short {
			err = one.edit("/etc/resolv.conf", func(file string) string { return names.Resolv(file, one.own.Model) })
		}
	}
	if err == nil {
		err = w.resolve(one)
	}
	if err == nil {
		one.has = lines
	} else if failed = err.Error(); failed != one.failed {
		// A cell that has ended gets its names when it is started again.
		w.log.Warn("cannot write a unit's names", "unit", one.own.Unit, "err", err)
	}
	one.failed = failed
}

// round does all that the model says, and says whether to try again.
func (w *wiring) round(ctx context.Context) (again bool) {
	leased, err := w.leased()
	apps, err2 := w.model.Applications(ctx)
	if err == nil {
		err = err2
	}
	if err == nil && !w.concerns(apps, leased) && !w.active.Load() && !w.directory.tunnels.concerned(w.model.UUID()) {
		return false
	}
	if err == nil {
		again, err = w.wire(ctx, leased)
	}
	if err != nil && ctx.Err() == nil {
		w.log.Error("cannot have units found", "err", err)
		return true
	}
	return again && ctx.Err() == nil
}

// propose has the isolated units of this host get a network that no other host of the model
// has, before the first of them is there.
func (w *wiring) propose(ctx context.Context) error {
	if w.directory == nil {
		return nil // of a test without networks
	}
	return errors.Annotate(w.directory.tunnels.propose(ctx, w.model, w.log), "cannot have a network for isolated units")
}

// meet tells the model's other hosts of this one, and has its isolated units reach theirs, at
// once: whoever then hears of a unit here can reach it. Without other hosts there is nothing to
// do.
func (w *wiring) meet(ctx context.Context) error {
	if w.directory == nil {
		return nil
	}
	docs, err := w.model.Tunnels(ctx)
	if err == nil && (len(docs) > 0 || w.directory.tunnels.concerned(w.model.UUID())) {
		_, _, err = w.directory.tunnels.meet(ctx, w.model, docs, true, w.log)
	}
	return errors.Annotate(err, "cannot tell other hosts of isolated units")
}

// heedTunnel is poke if there is a tunnel, whose process may have ended.
func (w *wiring) heedTunnel() {
	if w.directory.tunnels.concerned(w.model.UUID()) {
		w.poke()
	}
}

// leased are the applications of the model that have addresses.
func (w *wiring) leased() ([]string, error) {
	keys, err := w.cells.Leased()
	var apps []string
	for _, key := range keys {
		if app, ok := strings.CutPrefix(key, w.model.UUID()+"/"); ok {
			apps = append(apps, app)
		}
	}
	return apps, errors.Trace(err)
}

// concerns says whether there is anything to do for a model.
func (w *wiring) concerns(apps []state.ApplicationDoc, leased []string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(leased)+len(w.wired) > 0 || slices.ContainsFunc(apps, func(a state.ApplicationDoc) bool { return a.Isolation.On() })
}

// wire brings addresses, forwards and names to what the model says.
func (w *wiring) wire(ctx context.Context, leased []string) (again bool, err error) {
	v, err := w.model.Wires(ctx)
	if err != nil {
		return false, errors.Trace(err)
	}
	w.active.Store(w.concerns(v.Applications, leased))
	addresses, err := w.lease(v, leased)
	if err != nil {
		return false, errors.Trace(err)
	}
	six, err := w.cells.IPv6()
	if err != nil {
		return false, errors.Trace(err)
	}
	reached, again, err := w.directory.tunnels.meet(ctx, w.model, v.Tunnels, v.Joined, w.log)
	if err != nil {
		return false, errors.Trace(err)
	}
	p := w.plan(v, addresses, six, reached)
	want := map[string]publish.Want{}
	for key, one := range p.forwards {
		want[key] = publish.Want{Listen: one.listen, Backends: one.backends}
	}
	w.sayProblems(p, w.forwards.Apply(ctx, want))
	w.directory.tell(w.model.UUID(), p.table)
	w.mu.Lock()
	all := w.directory.all()
	for _, key := range slices.Sorted(maps.Keys(w.wired)) {
		w.write(w.wired[key], all)
	}
	w.mu.Unlock()
	if !w.first {
		return again || len(p.failed) > 0, nil
	}
	for app, told := range p.told {
		err := w.model.SetService(ctx, app, told)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return false, errors.Trace(err)
		}
	}
	return again || len(p.failed) > 0, nil
}

// lease has the applications have addresses that have isolated units here, or had
// one, and those that are gone no more.
func (w *wiring) lease(v state.Wires, leased []string) (map[string]string, error) {
	local := map[string]bool{}
	for _, u := range v.Units {
		if u.Principal == "" && w.hosts(u) {
			local[u.Name.Application()] = true
		}
	}
	addresses, there := map[string]string{}, map[string]bool{}
	for _, app := range v.Applications {
		there[app.Name] = true
		if !app.Isolation.OwnNetwork() || !local[app.Name] && !slices.Contains(leased, app.Name) {
			continue
		}
		address, err := w.cells.Lease(w.model.UUID() + "/" + app.Name)
		if err != nil {
			return nil, errors.Trace(err)
		}
		addresses[app.Name] = address
	}
	for _, app := range leased {
		if there[app] {
			continue
		}
		// What listens at it is ended by the plan, which doesn't have it any more.
		if err := w.cells.Release(w.model.UUID() + "/" + app); err != nil {
			return nil, errors.Trace(err)
		}
	}
	return addresses, nil
}

// sayProblems adds to a plan what can't be listened on, and logs what is new of it.
func (w *wiring) sayProblems(p plan, failed map[string]error) {
	said := map[string]string{}
	for _, key := range slices.Sorted(maps.Keys(failed)) {
		one, why := p.forwards[key], listenError(failed[key])
		p.failed[key] = true
		p.problem(one.app, one.name, why)
		said[key] = why
		if w.said[key] != why {
			w.log.Warn("a port of an application is not there", "application", one.app, "port", one.name, "err", why)
		}
	}
	w.said = said
}

// listenError is why a port can't be listened on, without the words around it.
func listenError(err error) string {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	_, why, found := strings.Cut(err.Error(), ": ")
	if !found {
		why = err.Error()
	}
	return why
}
