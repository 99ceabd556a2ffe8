package hookcontext

import (
	"slices"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

// ErrNotLeader is what a non-leader gets when it asks for what only the leader
// may do. Source: docs/spec/hook-tools.md §7.1.
const ErrNotLeader = errors.ConstError("this unit is not the leader")

// Params says whose run of which hook a Context serves.
type Params struct {
	Unit      model.UnitName
	ModelUUID string
	Hook      hooks.Info
	// Charm gives the endpoints that ports can be opened for.
	Charm model.Charm
	// Relations are those the unit is in, the hook's own among them.
	Relations []Relation
	View      View
	// NoReboot is why juju-reboot is refused; empty: it isn't.
	NoReboot string
	// Action is set where the run is that of an action.
	Action *Action
	// FailNow is called by unitd-fail, on the same terms as RebootNow.
	FailNow func()
	// RebootNow is called by "juju-reboot --now", so that the runner can end
	// the hook. It must not block nor call the Context; nil: nobody is told, and
	// the hook goes on.
	RebootNow func()
}

// Context is one run of a hook: what it has read so far, and what it wants to
// write. Its methods may be called from many goroutines at once; the View
// behind it is asked one question at a time.
//
// A Context is used for one run only. When the hook has ended and no tool is
// running any more, Changes has what is to be committed; for a hook that
// failed, the Context is simply dropped.
type Context struct {
	p         Params
	relations map[model.RelationID]Relation

	mu sync.Mutex // guards what follows, and is held while the View is asked

	config         answer[map[string]any]
	bags           map[bag]*answer[model.Settings]
	bagWrites      map[bag]model.Settings
	bagTallies     map[bag]*tally
	ports          answer[map[model.UnitName]model.Ports]
	wantPorts      model.Ports // the unit's ports after the hook; nil: as they were
	state          answer[map[string]string]
	stateWrites    map[string]*string
	stateTally     tally
	notLeader      bool  // once false, leadership stays false for the hook
	epoch          int64 // the epoch under which the hook leads; 0: it hasn't asked
	leaderSettings answer[model.Settings]
	leaderWrites   model.Settings
	leaderTally    tally
	unitStatus     answer[model.Status]
	appStatus      answer[ApplicationStatus]
	networks       map[string]*answer[Network]
	publicAddress  answer[string]
	goals          answer[GoalState]
	owned          answer[[]model.SecretInfo]
	secrets        []model.SecretChange
	unmade         map[model.SecretID]bool // secrets that the hook has made and removed
	latest         map[model.SecretID]*answer[model.SecretContent]
	storage        answer[[]Storage]
	storageAdded   map[string]int
	version        *string
	reboot         model.Reboot
	requeue        *model.Requeue
	failed         *string
	over           bool
	action         action
}

// New is the context of a run that is about to begin. It asks the View for
// nothing yet.
func New(p Params) *Context {
	c := &Context{
		p:           p,
		relations:   make(map[model.RelationID]Relation, len(p.Relations)),
		bags:        map[bag]*answer[model.Settings]{},
		bagWrites:   map[bag]model.Settings{},
		unmade:      map[model.SecretID]bool{},
		bagTallies:  map[bag]*tally{},
		stateWrites: map[string]*string{},
		networks:    map[string]*answer[Network]{},
		latest:      map[model.SecretID]*answer[model.SecretContent]{},

		storageAdded: map[string]int{},
	}
	for _, r := range p.Relations {
		c.relations[r.ID] = r
	}
	return c
}

// Sidecar says whether the unit is one of a container charm.
func (c *Context) Sidecar() bool { return c.p.Charm.Sidecar() }

// Unit is the unit whose hook runs.
func (c *Context) Unit() model.UnitName { return c.p.Unit }

// Hook is the hook that runs.
func (c *Context) Hook() hooks.Info { return c.p.Hook }

// ModelUUID names the model that the unit is in.
func (c *Context) ModelUUID() string { return c.p.ModelUUID }

// Changes is what the hook has written so far, as a value of its own. Writes
// that are known to change nothing, because the hook has also read what was
// there, are left out; nothing is read in order to find out.
func (c *Context) Changes() model.Changes {
	c.mu.Lock()
	defer c.mu.Unlock()
	changes := model.Changes{
		Relations:       c.relationChanges(),
		Ports:           c.portChanges(),
		State:           c.stateChanges(),
		LeaderSettings:  dropSame(c.leaderWrites, c.leaderSettings),
		Secrets:         slices.Clone(c.secrets),
		WorkloadVersion: c.version,
		Storage:         c.storageChanges(),
		Reboot:          c.reboot,
		Requeue:         c.requeue,
	}
	if changes.ByLeader() {
		changes.Epoch = c.epoch
	}
	return changes
}

// answer remembers what the View said to one question. "There is none" is an
// answer, too, and holds for the whole hook; any other error is asked again.
type answer[T any] struct {
	known bool
	value T
	err   error
}

func (a *answer[T]) get(ask func() (T, error)) (T, error) {
	if a.known {
		return a.value, a.err
	}
	value, err := ask()
	if err != nil && !errors.Is(err, errors.NotFound) {
		return value, errors.Trace(err)
	}
	*a = answer[T]{known: true, value: value, err: err}
	return value, err
}

// forKey is the place where the answer for a key is remembered.
func forKey[K comparable, T any](m map[K]*answer[T], key K) *answer[T] {
	a, ok := m[key]
	if !ok {
		a = &answer[T]{}
		m[key] = a
	}
	return a
}

// dropSame leaves out what would change nothing in the settings that were
// read; nil if nothing is left.
func dropSame(writes model.Settings, read answer[model.Settings]) model.Settings {
	out := model.Settings{}
	for k, v := range writes {
		old, had := read.value[k]
		if read.known && (had && v == old && v != "" || !had && v == "") {
			continue
		}
		out[k] = v
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
