package state

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// The providers of machines: the host of the agent that has the models, and
// hosts that join by a token.
const (
	LocalProvider  = ""
	ManualProvider = "manual"
)

// MachineArgs say what machine is to be added.
type MachineArgs struct {
	Provider string
	// Valid is how long the token of one of ManualProvider is valid.
	Valid time.Duration
	// Constraints, over the model's, Base and Disks are kept for people.
	Constraints model.Constraints
	Base        model.Base
	Disks       []string
}

// AddMachine is AddMachineOf for a machine of which nothing else is asked for.
func (m *Model) AddMachine(ctx context.Context, provider string, valid time.Duration) (doc MachineDoc, token string, err error) {
	return m.AddMachineOf(ctx, MachineArgs{Provider: provider, Valid: valid})
}

// AddMachineOf makes an Alive machine that is not for any one unit, and returns
// it (seed 000, "Machines"). For one of ManualProvider it returns the token by
// which an agent joins as its own; it is valid once. Of the token only a hash is
// stored. The error is NotValid for a model that is being destroyed.
func (m *Model) AddMachineOf(ctx context.Context, a MachineArgs) (doc MachineDoc, token string, err error) {
	secret := rand.Text()
	_, err = m.update(ctx, func(tx *txn) error {
		if err := tx.alive(); err != nil {
			return errors.Trace(err)
		}
		n, err := tx.next("machine")
		if err != nil {
			return errors.Trace(err)
		}
		ofModel, err := tx.modelConstraints()
		if err != nil {
			return errors.Trace(err)
		}
		doc = MachineDoc{ID: fmt.Sprint(n), Provider: a.Provider, Created: tx.now(), Constraints: a.Constraints.Under(ofModel).String(), Disks: a.Disks}
		if a.Base.Name != "" {
			doc.AskedBase = a.Base.String()
		}
		if a.Provider == ManualProvider {
			doc.Join = &JoinDoc{Hash: hashOfSecret(secret), Expires: tx.now().Add(a.Valid)}
			token = strings.Join([]string{m.info.UUID, doc.ID, secret}, ".")
			if err := tx.put(settledOf(doc.ID), settledDoc{}); err != nil {
				return errors.Trace(err)
			}
		}
		if err := tx.put(machineKey(doc.ID), doc); err != nil {
			return errors.Trace(err)
		}
		return tx.putFree(doc)
	})
	return doc, token, errors.Trace(err)
}

func hashOfSecret(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Token is what a token of AddMachine says.
type Token struct{ Model, Machine, Secret string }

// ParseToken reads a token; NotValid for what can't be one.
func ParseToken(text string) (Token, error) {
	words := strings.Split(strings.TrimSpace(text), ".")
	if len(words) != 3 || slices.Contains(words, "") {
		return Token{}, errors.NewNotValid(nil, `this is not a token as "unitd add-machine" makes them`)
	}
	return Token{Model: words[0], Machine: words[1], Secret: words[2]}, nil
}

// JoinMachine makes an agent the machine's, by a token that is then used up.
// agent is the id of the agent, instance what people are to know the host by.
// Errors: NotFound where the machine is gone, Forbidden for a token that isn't
// the machine's, was used, or has expired.
func (m *Model) JoinMachine(ctx context.Context, token Token, agent, instance string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.machine(token.Machine)
		if err != nil {
			return errors.Trace(err)
		}
		switch {
		case doc.Agent != "" && doc.Agent == agent:
			return nil
		case doc.Life != model.Alive:
			return errors.NewForbidden(nil, fmt.Sprintf("machine %s is being removed", doc.ID))
		case doc.Join == nil:
			return errors.NewForbidden(nil, fmt.Sprintf("the token of machine %s has been used: a token is valid once", doc.ID))
		case subtle.ConstantTimeCompare([]byte(doc.Join.Hash), []byte(hashOfSecret(token.Secret))) != 1:
			return errors.NewForbidden(nil, fmt.Sprintf("the token is not that of machine %s", doc.ID))
		case !tx.now().Before(doc.Join.Expires):
			return errors.NewForbidden(nil, fmt.Sprintf("the token of machine %s has expired", doc.ID))
		}
		doc.Join, doc.Agent, doc.Instance = nil, agent, instance
		if err := tx.put(machineKey(doc.ID), doc); err != nil || len(doc.Units) > 0 {
			return errors.Trace(err)
		}
		return tx.putFree(doc)
	})
	return errors.Trace(err)
}

// DestroyMachine removes a machine (seed 000, "remove-machine"): it becomes
// Dying, and its agent sets it Dead. One that isn't Alive is left as it is; one
// that has no host yet is gone at once, as there is nobody who would do that.
// The error is NotValid for one with units, and NotFound.
func (m *Model) DestroyMachine(ctx context.Context, id string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.seenMachine(id)
		if err != nil || doc.Life != model.Alive {
			return errors.Trace(err)
		}
		if len(doc.Units) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("machine %s has unit %q assigned", id, doc.Units[0]))
		}
		if doc.Instance == "" {
			return tx.deleteMachine(id)
		}
		kept, err := tx.storageOn(id)
		if err != nil {
			return errors.Trace(err)
		}
		if len(kept) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("machine %s has storage %s: remove it first", id, kept[0].ID))
		}
		doc.Life = model.Dying
		if err := tx.putFree(doc); err != nil {
			return errors.Trace(err)
		}
		return tx.put(machineKey(id), doc)
	})
	return errors.Trace(err)
}

// ForceDestroyMachine takes a machine away with its units, without any hook and
// without its agent: it is Dying, so that it gets no new units, then its units
// go as by ForceRemoveUnit, then it is Dead. Who is cut off after the first of
// these leaves the rest to the cleanup queue.
func (m *Model) ForceDestroyMachine(ctx context.Context, id string) error {
	if err := m.beginForced(ctx, id); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(m.finishForced(ctx, id))
}

func (m *Model) beginForced(ctx context.Context, id string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.seenMachine(id)
		if err != nil || doc.Life == model.Dead {
			return errors.Trace(err)
		}
		doc.Life, doc.ForUnit, doc.Join = model.Dying, false, nil
		if err := tx.putFree(doc); err != nil {
			return errors.Trace(err)
		}
		if err := tx.queue(cleanupDoc{Machine: id}); err != nil {
			return errors.Trace(err)
		}
		return tx.put(machineKey(id), doc)
	})
	return errors.Trace(err)
}

// finishForced does the rest of a ForceDestroyMachine, if there is any.
func (m *Model) finishForced(ctx context.Context, id string) error {
	doc, err := m.Machine(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	if err != nil || doc.Life == model.Alive {
		return errors.Trace(err)
	}
	for _, u := range doc.Units {
		if err := m.ForceRemoveUnit(ctx, u); err != nil {
			return errors.Annotatef(err, "cannot remove %s by force", u)
		}
	}
	err = m.SetMachineDead(ctx, id)
	if errors.Is(err, errors.NotFound) {
		return nil
	}
	return errors.Trace(err)
}

// SetMachineDead marks a Dying machine Dead. The error is NotValid for one that
// is Alive or has units, and NotFound.
func (m *Model) SetMachineDead(ctx context.Context, id string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.machine(id)
		if err != nil || doc.Life == model.Dead {
			return errors.Trace(err)
		}
		if doc.Life == model.Alive {
			return errors.NewNotValid(nil, fmt.Sprintf("machine %s is alive", id))
		}
		if len(doc.Units) > 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("machine %s has unit %q assigned", id, doc.Units[0]))
		}
		doc.Life = model.Dead
		return tx.put(machineKey(id), doc)
	})
	return errors.Trace(err)
}

// RemoveMachine takes a Dead machine out of the model, with the storage that was
// on it. It is no error if it is gone; NotValid if it isn't Dead.
func (m *Model) RemoveMachine(ctx context.Context, id string) error {
	if err := m.forgetStorageOn(ctx, id); err != nil {
		return errors.Trace(err)
	}
	_, err := m.update(ctx, func(tx *txn) error {
		doc, err := tx.machine(id)
		if errors.Is(err, errors.NotFound) {
			return nil
		}
		if err != nil {
			return errors.Trace(err)
		}
		if doc.Life != model.Dead {
			return errors.NewNotValid(nil, fmt.Sprintf("cannot remove machine %s: it is not dead", id))
		}
		return tx.deleteMachine(id)
	})
	return errors.Trace(err)
}

// forgetStorageOn takes the storage that is on a Dead machine out of the model,
// in pages.
func (m *Model) forgetStorageOn(ctx context.Context, machine string) error {
	for more := true; more; {
		_, err := m.update(ctx, func(tx *txn) error {
			more = false
			doc, err := tx.machine(machine)
			if errors.Is(err, errors.NotFound) || err == nil && doc.Life != model.Dead {
				return nil
			}
			if err != nil {
				return errors.Trace(err)
			}
			on, err := tx.storageOn(machine)
			if err != nil {
				return errors.Trace(err)
			}
			more = len(on) > maxWrites
			for _, s := range on[:min(len(on), maxWrites)] {
				if err := tx.delete(storageKey(s.ID)); err != nil {
					return errors.Trace(err)
				}
			}
			return nil
		})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// storageOn is the storage on a machine of ManualProvider that is attached to no
// unit.
func (d docs) storageOn(machine string) ([]StorageDoc, error) {
	all, err := list[StorageDoc](d, "storage/")
	return slices.DeleteFunc(all, func(s StorageDoc) bool { return s.Host != machine || s.Unit != "" }), errors.Trace(err)
}

// deleteMachine deletes all that there is of a machine.
func (t *txn) deleteMachine(id string) error {
	refs, err := t.Keys(t.m.prefix()+machineTasks(id), "", 1)
	if err == nil && len(refs) > 0 {
		err = t.queue(cleanupDoc{Tasks: machineTasks(id)})
	}
	if err != nil {
		return errors.Trace(err)
	}
	return t.delete(machineKey(id), portsKey(id), presenceKey(id), freeKey(id), settledOf(id), tunnelKey(id), keyWishKey(id), keyGiftKey(id), newestKey(id))
}

// Machine reads a machine; errors.NotFound if there is none.
func (m *Model) Machine(ctx context.Context, id string) (MachineDoc, error) {
	var doc MachineDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		doc, err = r.machine(id)
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}

// Machines are all machines, by number where their ids are numbers.
func (m *Model) Machines(ctx context.Context) ([]MachineDoc, error) {
	var ms []MachineDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		ms, err = list[MachineDoc](r, "machine/")
		return errors.Trace(err)
	})
	slices.SortFunc(ms, func(a, b MachineDoc) int { return compareIDs(a.ID, b.ID) })
	return ms, errors.Trace(err)
}

// SetMachine says what an agent knows of the machine it runs on: the host's
// name, addresses and base of the machine with the ID of told, and where it has
// none yet its Instance.
func (m *Model) SetMachine(ctx context.Context, told MachineDoc) error {
	_, err := m.update(ctx, func(tx *txn) error { return tx.setMachine(told) }, store.Relaxed)
	return errors.Trace(err)
}

func (t *txn) setMachine(told MachineDoc) error {
	doc, err := t.machine(told.ID)
	if err != nil {
		return errors.Trace(err)
	}
	provided := doc.Instance == "" && told.Instance != ""
	same := !provided && doc.Hostname == told.Hostname && slices.Equal(doc.Addresses, told.Addresses) &&
		doc.BaseName == told.BaseName && doc.BaseChannel == told.BaseChannel &&
		(told.System == nil || doc.System != nil && doc.System.Equal(*told.System))
	if same && !doc.Started.IsZero() {
		return nil
	}
	doc.Hostname, doc.Addresses = told.Hostname, told.Addresses
	doc.BaseName, doc.BaseChannel = told.BaseName, told.BaseChannel
	doc.System = cmp.Or(told.System, doc.System)
	if doc.Started.IsZero() {
		doc.Started = t.now()
	}
	if provided {
		doc.Instance = told.Instance
		if !doc.ForUnit && len(doc.Units) == 0 {
			if err := t.putFree(doc); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return t.put(machineKey(doc.ID), doc)
}

// appearAtOnce is how many machines appear in one transaction: each has up to three keys
// to write, and one to compare, where etcd takes 128 of both by default.
const appearAtOnce = 24

// Appear says of machines what SetMachine does, and that their agent is there for as long
// as the lease lives. Machines that are gone are left out. The error is NotFound for a
// lease that has ended.
func (m *Model) Appear(ctx context.Context, lease store.LeaseID, told ...MachineDoc) error {
	for some := range slices.Chunk(told, appearAtOnce) {
		if _, err := m.update(ctx, func(tx *txn) error {
			for _, one := range some {
				err := tx.setMachine(one)
				if errors.Is(err, errors.NotFound) {
					continue
				}
				if err == nil {
					err = tx.tx.PutLease(m.prefix()+presenceKey(one.ID), []byte(`true`), lease)
				}
				if err != nil {
					return errors.Annotatef(err, "cannot show that machine %s is there", one.ID)
				}
			}
			return nil
		}, store.Relaxed); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// compareIDs orders "2" before "10".
func compareIDs(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return slices.Compare([]byte(a), []byte(b))
}
