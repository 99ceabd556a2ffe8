package machine

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// Keys are the keys for secrets of this host, for an agent that shares them with other hosts:
// docs/operating.md, "The key of the secrets". It is safe for use by many goroutines.
type Keys interface {
	// Recipient is to whom keys for this host can be sealed; empty: it was given its keys, and
	// neither wants others nor gives any.
	Recipient() (string, error)
	// Names are those of the keys that there are, that which seals first.
	Names() ([]string, error)
	// Seal seals the keys of this host, which are made if there are none, for another one.
	Seal(KeysFor) (sealed []byte, names []string, err error)
	// Take takes on keys that were sealed for this host, in the place of those that have come so
	// before; this host's own stay. The error is NotValid for what isn't for it.
	Take(sealed []byte, whose KeysFor) error
}

// KeysFor says for whom keys are sealed.
type KeysFor struct {
	Model, Machine, Agent, Recipient string
}

// keysharing has the agents of machines have the keys of that which has the models. It works
// beside the units' agents.
type keysharing struct {
	model *state.Model
	keys  Keys
	// machine is the agent's; nil: it has the models.
	machine *Machine
	log     *slog.Logger
	asked   chan struct{} // has room for one
	said    string
	// answered: this agent was given keys, or word that there are none for it.
	answered bool
}

func (a *modelAgent) newKeysharing() *keysharing {
	return &keysharing{model: a.model, keys: a.Keys, machine: a.Machine, log: a.log, asked: make(chan struct{}, 1)}
}

// heed has it look, if a change may matter.
func (k *keysharing) heed(c state.Change) {
	if k.keys == nil || !c.Keys && !c.Resync {
		return
	}
	select {
	case k.asked <- struct{}{}:
	default:
	}
}

// run works until ctx ends.
func (k *keysharing) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-k.asked:
		}
		k.round(ctx)
	}
}

const (
	// keysTime is how long hooks wait for the keys of a host that has joined just now, and
	// keysEvery how often it is looked for them.
	keysTime  = 10 * time.Second
	keysEvery = 50 * time.Millisecond
)

// first is round before any hook runs: if this host has no keys yet, it waits a while for them,
// as long as the agent is there that gives them.
func (k *keysharing) first(ctx context.Context) {
	k.round(ctx)
	if k.keys == nil || k.machine == nil {
		return
	}
	look := time.NewTicker(keysEvery)
	defer look.Stop()
	for end := time.Now().Add(keysTime); time.Now().Before(end); {
		has, err := k.keys.Names()
		_, alive, err2 := k.model.Manager(ctx)
		if err != nil || err2 != nil || !alive || k.answered || len(has) > 0 {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-look.C:
			k.round(ctx)
		}
	}
	k.log.Warn("the keys for secrets haven't come yet from the host of the agent that has the models: hooks that need them fail")
}

// round does what there is to do. What it can't is logged, once, and tried again as all is
// looked at.
func (k *keysharing) round(ctx context.Context) {
	if k.keys == nil {
		return
	}
	var err error
	if k.machine != nil {
		err = k.take(ctx)
	} else {
		_, err = ShareKeys(ctx, k.model, k.keys)
	}
	switch {
	case ctx.Err() != nil:
	case err == nil:
		k.said = ""
	case err.Error() != k.said:
		k.said = err.Error()
		k.log.Warn("cannot share the keys for secrets with other hosts", "err", err)
	}
}

// take takes on what the agent was given, and says what it has.
func (k *keysharing) take(ctx context.Context) error {
	recipient, err := k.keys.Recipient()
	if err != nil {
		return errors.Trace(err)
	}
	about := KeysFor{Model: k.model.UUID(), Machine: k.machine.ID, Agent: k.machine.Agent, Recipient: recipient}
	gift, err := k.model.KeysGiven(ctx, k.machine.ID)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return errors.Trace(err)
	}
	has, err := k.keys.Names()
	if err != nil {
		return errors.Trace(err)
	}
	k.answered = gift.Agent == about.Agent && gift.Recipient == recipient
	if recipient != "" && k.answered && len(gift.Sealed) > 0 && !slices.Equal(has, gift.Names) {
		if err := k.keys.Take(gift.Sealed, about); err != nil {
			return errors.Trace(err)
		}
		if has, err = k.keys.Names(); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(k.model.WishForKeys(ctx, state.KeyWish{Machine: about.Machine, Agent: about.Agent, Recipient: recipient, Has: has}))
}

// ShareKeys gives this host's keys to the agents of all machines of a model that haven't been
// given them, and returns the machines whose agents are there and haven't all of them yet. One
// that can't be given any keeps no other from its own; the error is about the first.
func ShareKeys(ctx context.Context, m *state.Model, keys Keys) (without []string, err error) {
	wishes, err := m.KeyWishes(ctx)
	if err != nil || len(wishes) == 0 {
		return nil, errors.Trace(err)
	}
	own, err := keys.Recipient()
	if err != nil {
		return nil, errors.Trace(err)
	}
	names, err := keys.Names()
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, w := range wishes {
		if w.Present && !containsAll(w.Has, names) {
			without = append(without, w.Machine)
		}
		one := giveKeys(ctx, m, keys, own != "", names, w)
		if one != nil && !errors.Is(one, errors.Forbidden) && err == nil { // or it has changed meanwhile
			err = errors.Annotatef(one, "cannot give machine %s the keys for secrets", w.Machine)
		}
	}
	return without, err
}

// giveKeys gives a machine's agent the keys of these names, if it wants any and hasn't been
// given them; or, if this host gives none, word of that.
func giveKeys(ctx context.Context, m *state.Model, keys Keys, gives bool, names []string, w state.Wished) (err error) {
	gift := state.KeyGift{Machine: w.Machine, Agent: w.Agent, Recipient: w.Recipient}
	switch {
	case w.Recipient == "":
		return nil
	case !gives && w.Gift.Agent != "", gives && len(names) > 0 && slices.Equal(w.Gift.Names, names):
		return nil
	case gives:
		gift.Sealed, gift.Names, err = keys.Seal(KeysFor{Model: m.UUID(), Machine: w.Machine, Agent: w.Agent, Recipient: w.Recipient})
		if err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(m.GiveKeys(ctx, gift, w.Gift.Names))
}

func containsAll(all, some []string) bool {
	return !slices.ContainsFunc(some, func(s string) bool { return !slices.Contains(all, s) })
}
