package state

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// ManagerDoc says which agent manages a model: it has joined as no machine, runs
// the units of LocalProvider's machines, and has the duties of seed 000's
// JobManageModel. There is one, and the document outlives it: whoever succeeds
// it has nothing of what its units had on their disk.
type ManagerDoc struct {
	Agent string    `json:"agent"` // the id that is kept in its data directory
	Host  string    `json:"host"`  // the host's name, for people
	Since time.Time `json:"since"` // by that host's clock, for people
	// Run is chance, and another one each time that the agent is started: by it
	// an agent notices that there is a second one with its id.
	Run string `json:"run"`
}

const (
	managerKey      = "manager"
	managerAliveKey = managerKey + "/alive" // on the lease of the agent
)

// Claim says on what grounds an agent manages a model.
type Claim int

const (
	// Stay: it does already, or nobody ever has.
	Stay Claim = iota
	// Return: it did when it ran last, and no other agent has its id now.
	Return
	// TakeOver: a person says that it shall, in place of one that is gone.
	TakeOver
)

// ErrManaged is what errors are that are a *ManagedError.
const ErrManaged = errors.ConstError("another agent manages the model")

// ManagedError is the error of an agent where another one manages the model.
type ManagedError struct {
	ManagerDoc
	// Alive: the lease of the other one lives.
	Alive bool
	// Copy: it has the same id, as agents have whose data directories are copies.
	Copy bool
}

// Error says who manages the model, and whether it is there.
func (e *ManagedError) Error() string {
	who := "the agent of host " + e.Host
	if e.Copy {
		who = "an agent with a copy of this data directory, on host " + e.Host + ","
	}
	since := e.Since.UTC().Format("2006-01-02 15:04:05 UTC")
	if e.Alive {
		return fmt.Sprintf("%s has managed the store's models since %s", who, since)
	}
	return fmt.Sprintf("%s, which isn't there, has managed the store's models since %s", who, since)
}

// Is says so of ErrManaged.
func (e *ManagedError) Is(target error) bool { return target == ErrManaged }

// ManagedBy is the controller as an agent has it that manages the models, with
// the Run of its ManagerDoc: of a model that another one has taken over it changes
// nothing any more. Each change is an ErrManaged then, and lost is told of it; it
// must be quick, and may be called many times at once.
func (c *Controller) ManagedBy(run string, lost func(error)) *Controller {
	own := *c
	own.manager = &manager{run: run, lost: lost}
	return &own
}

// manager is the agent that a model is opened for; nil: whoever.
type manager struct {
	run  string
	lost func(error)
}

// managedBy is the error of a transaction of an agent that the model is managed
// by no more.
func (t *txn) managedBy(own *manager) error {
	if own == nil {
		return nil
	}
	doc, there, err := t.manager()
	if err != nil || !there || doc.Run == own.run {
		return errors.Trace(err)
	}
	alive, err := t.managerAlive()
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(&ManagedError{ManagerDoc: doc, Alive: alive})
}

// tell tells the agent that it manages the model no more, if the error says so.
func (own *manager) tell(err error) {
	if own != nil && errors.Is(err, ErrManaged) {
		own.lost(err)
	}
}

// manager reads who manages the model; false: nobody has yet.
func (d docs) manager() (doc ManagerDoc, there bool, err error) {
	kv, err := d.Get(d.m.prefix() + managerKey)
	if errors.Is(err, errors.NotFound) {
		return doc, false, nil
	}
	if err != nil {
		return doc, false, errors.Trace(err)
	}
	return doc, true, errors.Annotatef(json.Unmarshal(kv.Value, &doc), "document %s", managerKey)
}

// managerAlive says whether the agent is there that manages the model.
func (d docs) managerAlive() (alive bool, err error) {
	_, err = d.find(managerAliveKey, &alive)
	return alive, errors.Trace(err)
}

// Manager is who manages the model, and whether its agent is there. The error is
// NotFound where nobody ever has.
func (m *Model) Manager(ctx context.Context) (doc ManagerDoc, alive bool, err error) {
	_, err = m.view(ctx, func(d docs) (err error) {
		there := false
		if doc, there, err = d.manager(); err == nil && !there {
			err = errors.NewNotFound(nil, "nobody has managed the model yet")
		}
		if err != nil {
			return errors.Trace(err)
		}
		alive, err = d.managerAlive()
		return errors.Trace(err)
	})
	return doc, alive, errors.Trace(err)
}

// Manage makes an agent the one that manages the model, for as long as its lease
// lives, and says whether nobody ever has before. What it hangs on is the store's
// lease, so the clocks of hosts may differ. The error is ErrManaged where another
// one does: one that is there can't be taken over, one that is gone by TakeOver
// alone; and NotFound where the lease has ended. Nobody manages a model that is
// gone, or whose manager's document went as it was taken away.
func (m *Model) Manage(ctx context.Context, by ManagerDoc, lease store.LeaseID, c Claim) (first bool, err error) {
	// Mostly there is nothing to write; then no writer need be waited for.
	done := false
	_, err = m.view(ctx, func(d docs) (err error) {
		done, err = d.manages(by.Run, lease)
		return errors.Trace(err)
	})
	if err != nil || done {
		return false, errors.Trace(err)
	}
	own := *m
	own.managed = nil // it decides that itself
	_, err = own.update(ctx, func(tx *txn) (err error) {
		first, err = tx.manage(by, lease, c)
		return errors.Trace(err)
	})
	return first, errors.Trace(err)
}

// manages says whether the agent with that Run manages the model, on that lease.
func (d docs) manages(run string, lease store.LeaseID) (bool, error) {
	doc, _, err := d.manager()
	if err != nil || doc.Run != run {
		return false, errors.Trace(err)
	}
	kv, err := d.Get(d.m.prefix() + managerAliveKey)
	if errors.Is(err, errors.NotFound) {
		return false, nil
	}
	return kv.Lease == lease, errors.Trace(err)
}

func (t *txn) manage(by ManagerDoc, lease store.LeaseID, c Claim) (first bool, err error) {
	doc, there, err := t.manager()
	if err != nil {
		return false, errors.Trace(err)
	}
	if !there {
		// What is left of one that is being taken away stays away.
		info, err := readInfo(t.tx, t.m.info)
		if errors.Is(err, errors.NotFound) || err == nil && info.Life != model.Alive {
			return false, nil
		}
		if err != nil {
			return false, errors.Trace(err)
		}
	}
	alive, err := t.managerAlive()
	if err != nil {
		return false, errors.Trace(err)
	}
	mine := there && doc.Agent == by.Agent
	if there && doc.Run != by.Run && !(mine && c != Stay || c == TakeOver && !alive) {
		return false, errors.Trace(&ManagedError{ManagerDoc: doc, Alive: alive, Copy: mine})
	}
	if by.Since = t.now(); mine && doc.Host == by.Host {
		by.Since = doc.Since
	}
	if by != doc {
		if err := t.put(managerKey, by); err != nil {
			return false, errors.Trace(err)
		}
	}
	return !there, errors.Trace(t.tx.PutLease(t.m.prefix()+managerAliveKey, []byte(`true`), lease))
}

// Unmanage has nobody manage the model, as before the agent with that Run began
// to, if it still does.
func (m *Model) Unmanage(ctx context.Context, run string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, there, err := tx.manager()
		if err != nil || !there || doc.Run != run {
			return errors.Trace(err)
		}
		return tx.delete(managerKey, managerAliveKey)
	})
	return errors.Trace(err)
}
