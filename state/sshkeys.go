package state

import (
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// sshKeysKey is where the keys of the model are, each in a line of authorized_keys.
const sshKeysKey = "ssh-keys"

// internalKeys are the comments of keys that controllers of Juju have put into a model.
// Source: docs/spec/juju-clients.md §5.1.
func internalKeys() []string { return []string{"juju-client-key", "juju-system-key"} }

// SSHKey is a public key that a model has.
type SSHKey struct {
	// Text is the whole key, as in a line of authorized_keys.
	Text string
	// Fingerprint is the MD5 of the key in hex, two digits and a colon each; Comment
	// may be empty.
	Fingerprint, Comment string
}

// String is the key as a list has it.
func (k SSHKey) String() string { return fmt.Sprintf("%s (%s)", k.Fingerprint, k.Comment) }

// ParseSSHKey reads a public key as authorized_keys has it, with or without options and
// a comment. The error is NotValid.
func ParseSSHKey(text string) (SSHKey, error) {
	text = strings.TrimSpace(text)
	invalid := errors.NewNotValid(nil, "invalid ssh key: "+text)
	words := strings.Fields(text)
	if strings.ContainsAny(text, "\r\n") {
		return SSHKey{}, invalid
	}
	for i, kind := range words[:max(len(words)-1, 0)] {
		if !slices.ContainsFunc([]string{"ssh-", "ecdsa-", "sk-"}, func(p string) bool { return strings.HasPrefix(kind, p) }) {
			continue
		}
		blob, err := base64.StdEncoding.DecodeString(words[i+1])
		if err != nil || len(blob) <= 4+len(kind) || binary.BigEndian.Uint32(blob) != uint32(len(kind)) || string(blob[4:4+len(kind)]) != kind {
			continue
		}
		sum := md5.Sum(blob)
		pairs := make([]string, len(sum))
		for j, b := range sum {
			pairs[j] = hex.EncodeToString([]byte{b})
		}
		return SSHKey{Text: text, Fingerprint: strings.Join(pairs, ":"), Comment: strings.Join(words[i+2:], " ")}, nil
	}
	return SSHKey{}, invalid
}

// SSHKeys are the model's keys, in the order in which they were added.
func (m *Model) SSHKeys(ctx context.Context) ([]SSHKey, error) {
	var keys []SSHKey
	_, err := m.view(ctx, func(r docs) (err error) {
		keys, err = r.sshKeys()
		return errors.Trace(err)
	})
	return keys, errors.Trace(err)
}

func (d docs) sshKeys() (keys []SSHKey, err error) {
	var texts []string
	if _, err := d.find(sshKeysKey, &texts); err != nil {
		return nil, errors.Trace(err)
	}
	for _, text := range texts {
		if k, err := ParseSSHKey(text); err == nil {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

func (t *txn) putSSHKeys(keys []SSHKey) error {
	if len(keys) == 0 {
		return t.delete(sshKeysKey)
	}
	texts := make([]string, len(keys))
	for i, k := range keys {
		texts[i] = k.Text
	}
	return t.put(sshKeysKey, texts)
}

// AddSSHKeys adds those of the keys that can be added, and says of each what is wrong
// with it; nil: nothing. Source: docs/spec/juju-clients.md §5.1.
func (m *Model) AddSSHKeys(ctx context.Context, texts []string) ([]error, error) {
	return m.eachSSHKey(ctx, texts, func(keys []SSHKey, text string) ([]SSHKey, error) {
		k, err := ParseSSHKey(text)
		switch {
		case err != nil:
			return keys, err
		case slices.Contains(internalKeys(), k.Comment):
			return keys, errors.NewNotValid(nil, fmt.Sprintf("may not add key with comment %s: %s", k.Comment, text))
		case slices.ContainsFunc(keys, func(other SSHKey) bool { return other.Fingerprint == k.Fingerprint }):
			return keys, errors.NewAlreadyExists(nil, "duplicate ssh key: "+text)
		}
		return append(keys, k), nil
	})
}

// RemoveSSHKeys removes keys by their fingerprints, their comments, or by the keys
// themselves, and says of each id what is wrong with it; nil: nothing.
func (m *Model) RemoveSSHKeys(ctx context.Context, ids []string) ([]error, error) {
	return m.eachSSHKey(ctx, ids, func(keys []SSHKey, id string) ([]SSHKey, error) {
		if slices.Contains(internalKeys(), id) {
			return keys, errors.NewNotValid(nil, "may not delete internal key: "+id)
		}
		print := id
		if k, err := ParseSSHKey(id); err == nil {
			print = k.Fingerprint
		}
		left := slices.DeleteFunc(slices.Clone(keys), func(k SSHKey) bool {
			return k.Fingerprint == print || id != "" && k.Comment == id
		})
		if len(left) == len(keys) {
			return keys, errors.NewNotFound(nil, "key not found: "+id)
		}
		return left, nil
	})
}

// eachSSHKey changes the keys by what is said, word by word, in one transaction.
func (m *Model) eachSSHKey(ctx context.Context, words []string, change func([]SSHKey, string) ([]SSHKey, error)) (wrong []error, err error) {
	_, err = m.update(ctx, func(tx *txn) error {
		keys, err := tx.sshKeys()
		if err != nil {
			return errors.Trace(err)
		}
		wrong = make([]error, len(words))
		for i, word := range words {
			keys, wrong[i] = change(keys, word)
		}
		return tx.putSSHKeys(keys)
	})
	return wrong, errors.Annotate(err, "cannot change the model's ssh keys")
}
