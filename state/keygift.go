package state

import (
	"context"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// KeyWish says which keys for secrets the agent of a machine has, and to whom others can seal
// those that it hasn't.
type KeyWish struct {
	Machine string `json:"machine"`
	// Agent is the id that the agent has joined with.
	Agent string `json:"agent"`
	// Recipient is a public key of age's, whose private one never leaves the host; empty: the
	// agent was given its keys, and wants none.
	Recipient string `json:"recipient,omitempty"`
	// Has are the names of its keys, as Sealer has them, that which seals first.
	Has []string `json:"has,omitempty"`
}

// KeyGift is what the agent that has the models has sealed for that of a machine.
type KeyGift struct {
	Machine   string `json:"machine"`
	Agent     string `json:"agent"`
	Recipient string `json:"recipient"`
	// Sealed are the keys, and for whom they are; Names are theirs.
	Sealed []byte   `json:"sealed"`
	Names  []string `json:"names"`
}

const (
	keyWishKind = "key-wish"
	keyGiftKind = "key-gift"
)

func keyWishKey(machine string) string { return keyWishKind + "/" + machine }
func keyGiftKey(machine string) string { return keyGiftKind + "/" + machine }

// WishForKeys says what the agent of a machine has, and who it is. The error is Forbidden
// where another one is the machine's agent, or none.
func (m *Model) WishForKeys(ctx context.Context, w KeyWish) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.isAgentOf(w.Machine, w.Agent); err != nil {
			return errors.Trace(err)
		}
		var was KeyWish
		if _, err := tx.find(keyWishKey(w.Machine), &was); err != nil {
			return errors.Trace(err)
		}
		if was.Agent == w.Agent && was.Recipient == w.Recipient && slices.Equal(was.Has, w.Has) {
			return nil
		}
		return tx.put(keyWishKey(w.Machine), w)
	}, store.Relaxed)
	return errors.Trace(err)
}

// isAgentOf is Forbidden if an agent isn't that of a machine that is alive.
func (d docs) isAgentOf(machine, agent string) error {
	doc, err := d.machine(machine)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	if err != nil || doc.Life != model.Alive || agent == "" || doc.Agent != agent {
		return errors.Forbiddenf("another agent than that of machine %s", machine)
	}
	return nil
}

// Wished is a machine's wish, with what it was given.
type Wished struct {
	KeyWish
	// Gift is empty where there is none for this agent.
	Gift KeyGift
	// Present: the agent is there.
	Present bool
}

// KeyWishes are those of all machines whose agents may have keys.
func (m *Model) KeyWishes(ctx context.Context) ([]Wished, error) {
	var all []Wished
	_, err := m.view(ctx, func(r docs) error {
		all = nil
		wishes, err := list[KeyWish](r, keyWishKind+"/")
		if err != nil {
			return errors.Trace(err)
		}
		for _, w := range wishes {
			if err := r.isAgentOf(w.Machine, w.Agent); errors.Is(err, errors.Forbidden) {
				continue
			} else if err != nil {
				return errors.Trace(err)
			}
			one := Wished{KeyWish: w}
			if one.Present, err = r.present(w.Machine); err != nil {
				return errors.Trace(err)
			}
			var gift KeyGift
			if _, err := r.find(keyGiftKey(w.Machine), &gift); err != nil {
				return errors.Trace(err)
			}
			if gift.Agent == w.Agent && gift.Recipient == w.Recipient {
				one.Gift = gift
			}
			all = append(all, one)
		}
		return nil
	})
	return all, errors.Trace(err)
}

// GiveKeys gives a machine's agent what was sealed for it. The error is Forbidden where that
// isn't the machine's agent, has another recipient by now, or has been given something else
// than was, which are the names of the gift before.
func (m *Model) GiveKeys(ctx context.Context, g KeyGift, was []string) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.isAgentOf(g.Machine, g.Agent); err != nil {
			return errors.Trace(err)
		}
		var w KeyWish
		if _, err := tx.find(keyWishKey(g.Machine), &w); err != nil {
			return errors.Trace(err)
		}
		if w.Agent != g.Agent || w.Recipient != g.Recipient {
			return errors.Forbiddenf("a key for another agent of machine %s", g.Machine)
		}
		var before KeyGift
		if _, err := tx.find(keyGiftKey(g.Machine), &before); err != nil {
			return errors.Trace(err)
		}
		if before.Agent == g.Agent && before.Recipient == g.Recipient && !slices.Equal(before.Names, was) {
			return errors.Forbiddenf("a key where machine %s has been given another one meanwhile", g.Machine)
		}
		return tx.put(keyGiftKey(g.Machine), g)
	}, store.Relaxed)
	return errors.Trace(err)
}

// KeysGiven is what a machine's agent was given; NotFound: nothing.
func (m *Model) KeysGiven(ctx context.Context, machine string) (g KeyGift, err error) {
	_, err = m.view(ctx, func(r docs) error { return errors.Trace(r.get(keyGiftKey(machine), &g)) })
	return g, errors.Trace(err)
}

// KeyInUse is the name of the key that the model's secrets are sealed with; empty: it has none
// yet, or says none.
func (m *Model) KeyInUse(ctx context.Context) (string, error) {
	var inUse sealingDoc
	_, err := m.view(ctx, func(r docs) error {
		_, err := r.find(sealingKey, &inUse)
		return errors.Trace(err)
	})
	return inUse.Key, errors.Trace(err)
}
