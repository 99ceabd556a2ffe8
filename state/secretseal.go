package state

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Sealer encrypts the content of secrets where it is stored, and decrypts it.
type Sealer struct {
	// Seal encrypts with the key of that name, and says which one it was: "" is the newest
	// one, and one is made where there is none. The error is NotFound if this host hasn't
	// the key of that name. Where the keys have no names, all have the same one.
	Seal func(plain []byte, key string) (sealed []byte, by string, err error)
	Open func(sealed []byte) ([]byte, error)
	// Opener is the name of the key that opens something; nil: keys have no names.
	Opener func(sealed []byte) (key string, err error)
	// Newest is the name of the key that rotate-secret-key takes into use; one is made
	// where there is none.
	Newest func() (string, error)
	// Soon is for transactions, in which nobody waits for keys: the error of its functions is
	// ErrKeysAwaited where keys have to be fetched first, and its Await waits until they were.
	// nil: it is this one.
	Soon  *Sealer
	Await func(context.Context) error
}

// ErrKeysAwaited is that of a Sealer's Soon.
const ErrKeysAwaited = errors.ConstError("the keys for secrets are being fetched")

// soon is the sealer for transactions.
func (s Sealer) soon() Sealer {
	if s.Soon == nil {
		return s
	}
	return *s.Soon
}

// patiently does something again, as often as somebody may wait, if it lacked the keys for
// secrets: it has ended its transaction before, so that it holds up nobody who writes.
func (s Sealer) patiently(ctx context.Context, do func() (int64, error)) (rev int64, err error) {
	for range 3 {
		if rev, err = do(); !errors.Is(err, ErrKeysAwaited) || s.Await == nil {
			return rev, err
		}
		if err := s.Await(ctx); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return do()
}

// sealingKey is where a model says which key its secrets are sealed with. Whoever seals
// reads it first: rotate-secret-key changes it before it looks for what to seal anew, so
// that a transaction that has sealed something with the key before, and isn't committed
// yet, fails then, and is tried again with the new one.
const sealingKey = "sealing"

// sealingDoc is the document at sealingKey.
type sealingDoc struct {
	Key string `json:"key"` // its name, as Sealer has it
}

// ErrOtherKey is returned for what was to be sealed with another key than what is there
// already: nobody who has only that one could open it.
const ErrOtherKey = errors.ConstError("this host has another key for secrets than the one in use: give it the same secret.key, UNITD_SECRET_KEY or UNITD_SECRET_KEY_COMMAND; if that key is lost, run unitd rotate-secret-key --lost")

// ErrSealed is returned for content that can't be opened: most likely its key
// was lost. It can be given new content.
const ErrSealed = errors.ConstError("the content of a secret can't be opened")

func (t *txn) putSecretContent(id model.SecretID, revision int, content model.SecretContent) error {
	b, err := json.Marshal(content)
	if err != nil {
		return errors.New("cannot encode it") // the error might have it
	}
	sealed, err := t.seal(b)
	if err != nil {
		return errors.Trace(err)
	}
	return t.put(secretContentKey(id, revision), sealed)
}

// seal encrypts what is to be secret where it is stored; nothing stays nothing. The
// error is ErrOtherKey where this host hasn't the key that the model's secrets are sealed
// with. The model's first secret says which one that is.
func (t *txn) seal(b []byte) ([]byte, error) {
	sealer := t.m.sealer
	switch {
	case len(b) == 0:
		return nil, nil
	case sealer.Seal == nil:
		return nil, errors.New("there is no key to seal secrets with")
	}
	inUse, err := t.keyInUse()
	if err != nil {
		return nil, errors.Trace(err)
	}
	sealed, by, err := sealer.sealBy(inUse, b)
	if err == nil && by != "" {
		err = t.saySealing(by)
	}
	return sealed, errors.Trace(err)
}

// keyInUse is the name of the key that the model's secrets are sealed with; "": it has none
// yet. Of a model that doesn't say so, as before it did, that is the one that opens what it
// has. The error is ErrOtherKey if this host can't.
func (d docs) keyInUse() (string, error) {
	var inUse sealingDoc
	found, err := d.find(sealingKey, &inUse)
	if err != nil || found || d.m.sealer.Opener == nil {
		return inUse.Key, errors.Trace(err)
	}
	first, err := d.Page(d.m.prefix()+"secret-content/", "", 1)
	if err != nil || len(first) == 0 {
		return "", errors.Trace(err)
	}
	var sealed []byte
	if err := json.Unmarshal(first[0].Value, &sealed); err != nil {
		return "", errors.Annotatef(err, "document %s", first[0].Key)
	}
	key, err := d.m.sealer.Opener(sealed)
	if errors.Is(err, ErrKeysAwaited) {
		return "", errors.Trace(err)
	}
	if err != nil {
		return "", otherKey()
	}
	return key, nil
}

// saySealing has the model say which key seals, unless it does.
func (t *txn) saySealing(key string) error {
	var inUse sealingDoc
	if _, err := t.find(sealingKey, &inUse); err != nil || inUse.Key == key {
		return errors.Trace(err)
	}
	return t.put(sealingKey, sealingDoc{key})
}

// otherKey is ErrOtherKey, and Forbidden: a hook that writes a secret has failed.
func otherKey() error { return errors.WithType(errors.Trace(ErrOtherKey), errors.Forbidden) }

// sealBy seals with the key in use; "": none is, and whichever it is will be.
func (s Sealer) sealBy(key string, plain []byte) (sealed []byte, by string, err error) {
	sealed, by, err = s.Seal(plain, key)
	if errors.Is(err, errors.NotFound) {
		err = otherKey()
	}
	return sealed, by, errors.Trace(err)
}

// HasKey is ErrOtherKey if this host hasn't the key that the model's secrets are sealed with.
func (m *Model) HasKey(ctx context.Context) error {
	_, err := m.view(ctx, func(r docs) error {
		key, err := r.keyInUse()
		if err == nil && key != "" {
			_, _, err = m.sealer.sealBy(key, []byte("is it there?"))
		}
		return errors.Trace(err)
	})
	return errors.Trace(err)
}

// UseNewestKey has the model's secrets sealed with this host's newest key from now on. What
// was sealed before is there for SealAnew, or fails. The error is NotFound if the model is
// gone.
func (m *Model) UseNewestKey(ctx context.Context) error {
	if m.sealer.Newest == nil {
		return nil
	}
	var key string
	_, err := m.sealer.patiently(ctx, func() (_ int64, err error) {
		key, err = m.sealer.Newest()
		return 0, err
	})
	if err != nil {
		return errors.Trace(err)
	}
	_, err = m.update(ctx, func(tx *txn) error {
		if _, err := readInfo(tx.Reader, m.info); err != nil {
			return errors.Trace(err)
		}
		return tx.saySealing(key)
	})
	return errors.Trace(err)
}

// unseal is the other way round. The error is ErrSealed for what can't be opened.
func (d docs) unseal(sealed []byte) ([]byte, error) {
	switch {
	case len(sealed) == 0:
		return nil, nil
	case d.m.sealer.Open == nil:
		return nil, errors.New("there is no key to open secrets with")
	}
	b, err := d.m.sealer.Open(sealed)
	if errors.Is(err, ErrKeysAwaited) {
		return nil, errors.Trace(err)
	}
	if err != nil {
		return nil, errors.WithType(errors.Trace(err), ErrSealed)
	}
	return b, nil
}

// secretContent opens a revision's content; errors.NotFound for one that was
// removed.
func (d docs) secretContent(id model.SecretID, revision int) (model.SecretContent, error) {
	if uuid, plain := id.Split(); uuid != "" {
		return d.at(uuid, "").secretContent(plain, revision)
	}
	var sealed []byte
	if err := d.get(secretContentKey(id, revision), &sealed); err != nil {
		if errors.Is(err, errors.NotFound) {
			err = errors.NewNotFound(nil, fmt.Sprintf("secret revision %q not found", fmt.Sprintf("%s/%d", id, revision)))
		}
		return nil, errors.Trace(err)
	}
	b, err := d.unseal(sealed)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot open secret %q", id)
	}
	var content model.SecretContent
	if json.Unmarshal(b, &content) != nil {
		return nil, errors.Errorf("secret %q is damaged", id)
	}
	return content, nil
}
