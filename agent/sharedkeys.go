package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
)

// agentKeyFile has the key to which those for secrets are sealed that come from another host.
const agentKeyFile = "agent.key"

// errNoKeysYet is that the keys for secrets are on their way.
const errNoKeysYet = errors.ConstError("the keys for secrets haven't come yet from the host of the agent that has the models")

// sharedKeys are machine.Keys in a data directory.
type sharedKeys struct {
	dir string
	// given: they were given to this process, and nobody changes them.
	given bool
}

// shareKeys has an agent share the keys for secrets with those of other hosts, where each has
// a file of its own. One that was given them says so, and gives nobody any.
func (h *Host) shareKeys(c *machine.Config) error {
	if etcd, err := h.onEtcd(); err != nil || !etcd {
		return err
	}
	c.Keys = &sharedKeys{dir: h.keys, given: keysAreGiven()}
	return nil
}

// keysComeFromElsewhere says whether the agent of a data directory gets the keys for secrets
// from that which has the models: it has joined, and the store is no directory of this host.
func (h *Host) keysComeFromElsewhere(dir string) bool {
	if etcd, err := h.onEtcd(); err != nil || !etcd {
		return false
	}
	joined, err := ReadJoin(dir)
	return err == nil && joined != nil
}

// Recipient is the public key of this agent; empty: it was given its keys.
func (k *sharedKeys) Recipient() (string, error) {
	if k.given {
		return "", nil
	}
	own, err := k.own()
	if err != nil {
		return "", errors.Trace(err)
	}
	return own.Recipient(), nil
}

func (k *sharedKeys) own() (*sealed.Keys, error) {
	own, err := sealed.ReadOrMake(filepath.Join(k.dir, agentKeyFile))
	return own, errors.Annotate(err, "cannot have a key of this agent")
}

// Names are those of the keys for secrets.
func (k *sharedKeys) Names() ([]string, error) {
	if !hasSecretKeys(k.dir) {
		return nil, nil
	}
	keys, err := secretKeys(k.dir)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return keys.Names(), nil
}

// letter is what is sealed. It says for whom it is, so that nothing that was sealed for
// something else is taken for one.
type letter struct {
	Unitd string          `json:"unitd"` // letterForm
	For   machine.KeysFor `json:"for"`
	Keys  string          `json:"keys"`
}

const letterForm = "keys for secrets, 1"

// Seal seals the keys for secrets.
func (k *sharedKeys) Seal(to machine.KeysFor) (text []byte, names []string, err error) {
	keys, err := secretKeys(k.dir)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	b, err := json.Marshal(letter{letterForm, to, keys.Text()})
	if err != nil {
		return nil, nil, errors.New("cannot write down the keys") // the error might have them
	}
	text, err = sealed.SealFor(to.Recipient, b)
	return text, keys.Names(), errors.Trace(err)
}

// Take puts keys that came from another host into the file.
func (k *sharedKeys) Take(text []byte, whose machine.KeysFor) error {
	own, err := k.own()
	if err != nil {
		return errors.Trace(err)
	}
	plain, err := own.Open(text)
	if err != nil {
		return errors.NewNotValid(err, "the keys that have come")
	}
	var l letter
	if json.Unmarshal(plain, &l) != nil || l.Unitd != letterForm || l.For != whose {
		return errors.NotValidf("the keys that have come, which are for somebody else,")
	}
	unlock, err := lockSecretKey(k.dir)
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	come, err := sealed.Parse(l.Keys)
	if err != nil {
		return errors.Trace(err)
	}
	all, former, err := k.with(come)
	if err != nil || all == nil {
		return errors.Trace(err)
	}
	// Those that come are known as such before they are there: what this host has of its own is
	// nobody's to take away.
	if err := k.keepCame(append(former, come.Names()...)); err != nil {
		return errors.Trace(err)
	}
	if err := all.WriteFile(secretKeyFile(k.dir)); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(k.keepCame(come.Names()))
}

// with are the keys that have come, and behind them those of this host that haven't come before,
// whose names are former; nil: all are there already.
func (k *sharedKeys) with(come *sealed.Keys) (all *sealed.Keys, former []string, err error) {
	if !hasSecretKeys(k.dir) {
		return come, nil, nil
	}
	has, err := secretKeys(k.dir)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	if former, err = k.came(); err != nil {
		return nil, nil, errors.Trace(err)
	}
	all = come
	own, err := has.Without(append(slices.Clone(former), come.Names()...))
	if err == nil && own != nil {
		all, err = come.Before(own)
	}
	if err != nil || slices.Equal(all.Names(), has.Names()) {
		return nil, nil, errors.Trace(err)
	}
	return all, former, nil
}

// cameFile has the names of the keys that have come from another host.
const cameFile = "secret.key.came"

func (k *sharedKeys) came() (names []string, err error) {
	b, err := os.ReadFile(filepath.Join(k.dir, cameFile))
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &names)
	}
	return names, errors.Annotate(err, "cannot read which keys for secrets have come from another host")
}

func (k *sharedKeys) keepCame(names []string) error {
	b, err := json.Marshal(names)
	if err == nil {
		err = durable.Disk{}.ReplaceFile(filepath.Join(k.dir, cameFile), b, 0o600)
	}
	return errors.Annotate(err, "cannot note which keys for secrets have come from another host")
}

// share gives the keys for secrets to all other hosts, and says whose agents are there and
// haven't got them yet.
func (h *Host) share(c *state.Controller) (without []string, err error) {
	if etcd, err := h.onEtcd(); err != nil || !etcd {
		return nil, err
	}
	infos, err := c.Models(h.ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, info := range infos {
		machines, err := machine.ShareKeys(h.ctx, c.Open(info), &sharedKeys{dir: h.keys, given: keysAreGiven()})
		if errors.Is(err, errors.NotFound) {
			continue // the model is gone
		}
		if err != nil {
			return nil, errors.Trace(err)
		}
		for _, id := range machines {
			without = append(without, fmt.Sprintf("machine %s of model %q", id, info.Name))
		}
	}
	return without, nil
}

const (
	// takeTime is how long agents of other hosts may take to take a new key.
	takeTime = 30 * time.Second
	// shareEvery is how often it is looked whether they have.
	shareEvery = 100 * time.Millisecond
)

// shareAndWait is share until all have the keys whose agents are there; with lost those that
// don't take them in time keep nobody.
func (h *Host) shareAndWait(c *state.Controller, lost bool) error {
	look := time.NewTicker(shareEvery)
	defer look.Stop()
	for end := time.Now().Add(takeTime); ; {
		without, err := h.share(c)
		if err != nil || len(without) == 0 || lost && time.Now().After(end) {
			return errors.Trace(err)
		}
		if time.Now().After(end) {
			return errors.Errorf("%s hasn't the new key: the old one is kept; see to its agent, or give it the key if it was given its keys, and run this again", strings.Join(without, ", "))
		}
		select {
		case <-h.ctx.Done():
			return errors.Trace(h.ctx.Err())
		case <-look.C:
		}
	}
}
