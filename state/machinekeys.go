package state

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"github.com/juju/errors"
)

// KeyGiver gives the keys that seal secrets to the agents of other hosts.
type KeyGiver interface {
	// Which tells the keys from others, without saying anything of them.
	Which() (string, error)
	// For is the keys, sealed for a recipient as age (https://age-encryption.org) writes them.
	// The error is NotValid for what is no recipient.
	For(recipient string) ([]byte, error)
}

// machineKeysDoc is by what the agent that joins as a machine gets the keys that seal secrets.
// Nobody hands them over, and the token has nothing of them:
//
//	add-machine    Check: what a proof is made with, of the token's secret, sealed with the keys
//	the agent      Recipient: whom its own key opens for, and Proof: that it has the token
//	the manager    opens Check, verifies Proof, and seals the keys for Recipient: Keys
//
// So whoever may write the documents of a model gets no keys without a token, and whoever has a
// token gets none without the store.
type machineKeysDoc struct {
	Check     []byte `json:"check"`
	Recipient string `json:"recipient,omitempty"`
	Proof     []byte `json:"proof,omitempty"`
	Keys      []byte `json:"keys,omitempty"`
	// Of tells which keys Check and Keys were sealed with; empty: Recipient is new.
	Of string `json:"of,omitempty"`
}

const machineKeysKind = "machine-keys"

func machineKeysKey(machine string) string { return machineKeysKind + "/" + machine }

// proofKey is what a proof is made with, of the secret of a token, by which nobody finds out
// the secret.
func proofKey(secret string) []byte {
	sum := sha256.Sum256([]byte("unitd: keys for a machine\x00" + secret))
	return sum[:]
}

func proofOf(key []byte, machine, recipient string) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte(machine + "\x00" + recipient))
	return h.Sum(nil)
}

// newMachineKeys is the document for a machine that is added with the token's secret; nil: its
// agent finds the keys without.
func (m *Model) newMachineKeys(secret string) (*machineKeysDoc, error) {
	if m.sealer.Give == nil {
		return nil, nil
	}
	which, err := m.sealer.Give.Which()
	if err != nil {
		return nil, errors.Annotate(err, "the keys for secrets")
	}
	check, err := m.sealer.Seal(proofKey(secret))
	return &machineKeysDoc{Check: check, Of: which}, errors.Trace(err)
}

// askForKeys has the machine's keys be sealed for a recipient, if they are to be given at all.
func (t *txn) askForKeys(token Token, recipient string) error {
	var doc machineKeysDoc
	there, err := t.find(machineKeysKey(token.Machine), &doc)
	if err != nil || !there || recipient == "" {
		return errors.Trace(err)
	}
	doc.Recipient, doc.Keys, doc.Of = recipient, nil, ""
	doc.Proof = proofOf(proofKey(token.Secret), token.Machine, recipient)
	return t.put(machineKeysKey(token.Machine), doc)
}

// GiveKeys seals the keys that seal secrets for all machines of other hosts that don't have those
// that the sealer has now. It says of which it has refused that, and why: those who asked for
// them haven't had the machine's token.
func (m *Model) GiveKeys(ctx context.Context) (refused []error, err error) {
	if m.sealer.Give == nil {
		return nil, nil
	}
	waiting, err := m.machineKeys(ctx)
	if err != nil || len(waiting) == 0 {
		return nil, errors.Trace(err)
	}
	which, err := m.sealer.Give.Which()
	if err != nil {
		return nil, errors.Trace(err)
	}
	for machine, was := range waiting {
		if was.Of == which {
			continue
		}
		doc, err := m.sealFor(machine, was, which)
		if err != nil {
			refused = append(refused, errors.Annotatef(err, "machine %s isn't given the keys for secrets", machine))
			continue
		}
		if err := m.putMachineKeys(ctx, machine, was, doc); err != nil {
			return refused, errors.Trace(err)
		}
	}
	return refused, nil
}

// sealFor is the document of a machine with the sealer's keys.
func (m *Model) sealFor(machine string, doc machineKeysDoc, which string) (machineKeysDoc, error) {
	key, err := m.sealer.Open(doc.Check)
	if err != nil {
		return doc, errors.Annotate(err, "cannot open what its token is checked by")
	}
	if doc.Recipient != "" {
		if !hmac.Equal(doc.Proof, proofOf(key, machine, doc.Recipient)) {
			return doc, errors.NewForbidden(nil, "who asks for them hasn't had its token")
		}
		if doc.Keys, err = m.sealer.Give.For(doc.Recipient); err != nil {
			return doc, errors.Trace(err)
		}
	}
	doc.Of = which
	doc.Check, err = m.sealer.Seal(key)
	return doc, errors.Trace(err)
}

// putMachineKeys writes the document of a machine, unless it isn't any more as it was.
func (m *Model) putMachineKeys(ctx context.Context, machine string, was, doc machineKeysDoc) error {
	_, err := m.update(ctx, func(tx *txn) error {
		var now machineKeysDoc
		there, err := tx.find(machineKeysKey(machine), &now)
		if err != nil || !there || now.Recipient != was.Recipient || now.Of != was.Of {
			return errors.Trace(err)
		}
		return tx.put(machineKeysKey(machine), doc)
	})
	return errors.Annotatef(err, "cannot give machine %s the keys for secrets", machine)
}

func (m *Model) machineKeys(ctx context.Context) (map[string]machineKeysDoc, error) {
	all := map[string]machineKeysDoc{}
	_, err := m.view(ctx, func(r docs) error {
		clear(all)
		kvs, err := r.List(m.prefix() + machineKeysKind + "/")
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range kvs {
			var doc machineKeysDoc
			_, machine := splitKey(kv.Key[len(m.prefix()):])
			if err := json.Unmarshal(kv.Value, &doc); err != nil {
				return errors.Annotatef(err, "document %s", kv.Key)
			}
			all[machine] = doc
		}
		return nil
	})
	return all, errors.Trace(err)
}

// GivenKeys are the keys that seal secrets, sealed for the agent of the machine, once the
// manager has given them. Errors: NotFound where the machine isn't given any, and the context's.
func (m *Model) GivenKeys(ctx context.Context, machine string) ([]byte, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for changes := (<-chan Change)(nil); ; {
		var doc machineKeysDoc
		rev, err := m.view(ctx, func(r docs) error { return errors.Trace(r.get(machineKeysKey(machine), &doc)) })
		switch {
		case errors.Is(err, errors.NotFound) || err == nil && doc.Recipient == "":
			return nil, errors.NewNotFound(nil, fmt.Sprintf("machine %s isn't given the keys for secrets", machine))
		case err != nil:
			return nil, errors.Trace(err)
		case doc.Keys != nil:
			return doc.Keys, nil
		}
		if changes == nil {
			if changes, err = m.Watch(ctx, rev); err != nil {
				return nil, errors.Trace(err)
			}
		}
		if _, more := <-changes; !more {
			return nil, errors.NewNotYetAvailable(ctx.Err(), fmt.Sprintf("the agent that manages the models hasn't given machine %s the keys for secrets", machine))
		}
	}
}
