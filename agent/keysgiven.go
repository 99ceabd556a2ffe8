package agent

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
)

// agentKey is the file with the key of an agent that has joined, for which the manager seals the
// keys for secrets. It never leaves the data directory.
const agentKey = "agent.key"

// givenTime is how long who needs the keys for secrets waits for the manager to give them.
const givenTime = 20 * time.Second

// sealer seals secrets in a store that the data directory's agent works on. In one that hosts
// share, the agents that have joined are given the keys by the one that manages the models; in a
// store that is a file, they are beside it.
func (h *Host) sealer(dir string, s store.Store, c clock.Clock) (state.Sealer, error) {
	place, err := h.StoreName()
	if err != nil || !strings.HasPrefix(place, etcd.Scheme) {
		return Sealer(dir), err
	}
	otherwise := func() (*sealed.Keys, error) { return h.keysGiven(dir, s, c) }
	sealer := sealerOf(dir, otherwise)
	sealer.Give = giver(func() (*sealed.Keys, error) { return secretKeys(dir, otherwise) })
	return sealer, nil
}

// keysGiven are the keys that the manager has given to the agent of a data directory. An agent
// that has joined nothing is the manager, and makes them.
func (h *Host) keysGiven(dir string, s store.Store, c clock.Clock) (*sealed.Keys, error) {
	r, err := ReadJoin(dir)
	if err != nil {
		return nil, err
	}
	if r == nil {
		return sealed.ReadOrMake(secretKeyFile(dir))
	}
	own, err := sealed.ReadFile(filepath.Join(dir, agentKey))
	if os.IsNotExist(err) {
		return nil, errNoKeys(r.Machine)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	ctx, stop := context.WithTimeout(h.ctx, givenTime)
	defer stop()
	m, err := state.NewController(s, c).ModelWith(ctx, r.Model)
	if err != nil {
		return nil, errors.Trace(err)
	}
	text, err := m.GivenKeys(ctx, r.Machine)
	if errors.Is(err, errors.NotFound) {
		return nil, errNoKeys(r.Machine)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	plain, err := own.Open(text)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot open the keys for secrets with %s", filepath.Join(dir, agentKey))
	}
	return sealed.Parse(string(plain))
}

// errNoKeys is the error of a machine that was added, or joined, by a unitd that gave no keys.
func errNoKeys(machine string) error {
	return errors.NewNotFound(nil, "machine "+machine+" isn't given the keys for secrets: copy secret.key from the host that manages the models, or set "+SecretKeyVariable)
}

// recipient is whom the keys for secrets are to be sealed for when the agent of a data directory
// joins; empty: they are beside the store.
func (h *Host) recipient(dir string) (string, error) {
	place, err := h.StoreName()
	if err != nil || !strings.HasPrefix(place, etcd.Scheme) {
		return "", err
	}
	own, err := sealed.ReadOrMake(filepath.Join(dir, agentKey))
	if err != nil {
		return "", errors.Annotate(err, "the agent's own key")
	}
	return own.Recipient(), nil
}

// ownKeys is the error of a data directory whose keys for secrets were given to it, so that they
// can't be changed here.
func ownKeys(dir string) error {
	r, err := ReadJoin(dir)
	if err != nil || r == nil {
		return err
	}
	if _, err := os.Stat(secretKeyFile(dir)); err == nil || !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	return errors.NewForbidden(nil, "this host is machine "+r.Machine+", which is given the keys for secrets: change them on the host that manages the models")
}

// giver is part of state.Sealer.
type giver func() (*sealed.Keys, error)

// Which is part of state.KeyGiver.
func (g giver) Which() (string, error) {
	k, err := g()
	if err != nil {
		return "", errors.Trace(err)
	}
	return k.Which(), nil
}

// For is part of state.KeyGiver.
func (g giver) For(recipient string) ([]byte, error) {
	k, err := g()
	if err != nil {
		return nil, errors.Trace(err)
	}
	return k.For(recipient)
}
