package state

import (
	"encoding/json"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Sealer encrypts the content of secrets where it is stored, and decrypts it.
type Sealer struct {
	Seal, Open func([]byte) ([]byte, error)
}

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

// seal encrypts what is to be secret where it is stored; nothing stays nothing.
func (d docs) seal(b []byte) ([]byte, error) {
	switch {
	case len(b) == 0:
		return nil, nil
	case d.m.sealer.Seal == nil:
		return nil, errors.New("there is no key to seal secrets with")
	}
	sealed, err := d.m.sealer.Seal(b)
	return sealed, errors.Trace(err)
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
