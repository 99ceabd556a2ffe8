// Package sealed encrypts what is to be secret where it is stored. It is age
// (filippo.io/age) with keys of its own kind: a file, or text, of one or more
// lines "AGE-SECRET-KEY-1…", of which the first is the one that seals, and all
// open. So a key is changed by putting a new one first, sealing everything
// anew, and taking the old one out.
package sealed

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"filippo.io/age"
	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// ErrWrongKey is returned for what was sealed with a key that isn't there.
const ErrWrongKey = errors.ConstError("it was sealed with a key that isn't there")

// Keys seals and opens. It is safe for use by many goroutines.
type Keys struct {
	identities []age.Identity
	recipient  age.Recipient
	text       string
}

// Parse reads keys from text, one on a line; empty lines and those that begin
// with # are skipped. The error, NotValid, never has a key in it.
func Parse(text string) (*Keys, error) {
	ids, err := age.ParseIdentities(strings.NewReader(text))
	if err != nil {
		return nil, errors.NewNotValid(nil, "these are no keys: expected lines that begin with AGE-SECRET-KEY-1")
	}
	first, ok := ids[0].(*age.X25519Identity)
	if !ok {
		return nil, errors.NewNotValid(nil, "the first key is not of the kind that is made here (AGE-SECRET-KEY-1…)")
	}
	return &Keys{identities: ids, recipient: first.Recipient(), text: text}, nil
}

// Generate makes one key.
func Generate() (*Keys, error) {
	id, err := age.GenerateX25519Identity()
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a key")
	}
	return Parse(id.String() + "\n")
}

// ReadFile reads the keys in a file; the error is os.IsNotExist for one that
// isn't there, and NotValid for one that others can read.
func ReadFile(path string) (*Keys, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if st.Mode().Perm()&0o077 != 0 {
		return nil, errors.NewNotValid(nil, "others can read the key file "+path+": chmod 600 it")
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	k, err := Parse(string(b))
	return k, errors.Annotatef(err, "cannot read the key file %s", path)
}

// ReadOrMake is ReadFile, and makes a key where there is no file. Of several
// that make one at once all get the same.
func ReadOrMake(path string) (*Keys, error) {
	k, err := ReadFile(path)
	if !os.IsNotExist(err) {
		return k, errors.Trace(err)
	}
	if k, err = Generate(); err != nil {
		return nil, errors.Trace(err)
	}
	temp, err := writeTemp(path, k.text)
	if err != nil {
		return nil, errors.Annotate(err, "cannot make the key file")
	}
	defer os.Remove(temp)
	// A link fails where somebody else was first.
	if err := os.Link(temp, path); err != nil && !os.IsExist(err) {
		return nil, errors.Annotate(err, "cannot make the key file")
	}
	if err := (durable.Disk{}).SyncDir(filepath.Dir(path)); err != nil {
		return nil, errors.Annotate(err, "cannot make the key file")
	}
	k, err = ReadFile(path)
	return k, errors.Trace(err)
}

// WriteFile puts the keys into a file that only its owner can read, whole or
// not at all, and durably.
func (k *Keys) WriteFile(path string) error {
	return errors.Annotate(durable.Disk{}.ReplaceFile(path, []byte(k.text), 0o600), "cannot write the key file")
}

// writeTemp writes a text to a file of its own beside a path.
func writeTemp(path, text string) (string, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*") // 0600
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	_, err = f.WriteString(text)
	if err == nil {
		err = f.Sync()
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return f.Name(), errors.Trace(err)
}

// Without are the keys but for those of these names; nil: there are no others.
func (k *Keys) Without(names []string) (*Keys, error) {
	text := ""
	for _, id := range k.identities {
		own, ok := id.(*age.X25519Identity)
		if ok && !slices.Contains(names, name(id)) {
			text += own.String() + "\n"
		}
	}
	if text == "" {
		return nil, nil //nolint:nilnil // as the comment above says
	}
	return Parse(text)
}

// Before are the keys with those of old after them, which open what was sealed
// with them.
func (k *Keys) Before(old *Keys) (*Keys, error) { return Parse(k.text + old.text) }

// Name tells the key that seals from others, and nothing else of it: neither what it
// opens nor what it is sealed for can be had from it. It has 32 digits of a hash.
func (k *Keys) Name() string { return name(k.identities[0]) }

func name(id age.Identity) string {
	own, ok := id.(*age.X25519Identity)
	if !ok {
		return ""
	}
	sum := sha256.Sum256([]byte("unitd secret key " + own.Recipient().String()))
	return hex.EncodeToString(sum[:16])
}

// Names are those of all keys, that which seals first.
func (k *Keys) Names() []string {
	var all []string
	for _, id := range k.identities {
		all = append(all, name(id))
	}
	return all
}

// Text is what Parse reads: all keys.
func (k *Keys) Text() string { return k.text }

// Recipient is the public key of the one that seals: to whom others can seal by SealFor.
func (k *Keys) Recipient() string { return k.identities[0].(*age.X25519Identity).Recipient().String() }

// SealFor encrypts for whom Keys with that Recipient open. The error is NotValid for one that
// is none.
func SealFor(recipient string, plain []byte) ([]byte, error) {
	to, err := age.ParseX25519Recipient(recipient)
	if err != nil {
		return nil, errors.NewNotValid(nil, "a public key that isn't one of age's")
	}
	return seal(to, plain)
}

// Led are these keys, of which the one of that name seals. The error is NotFound if it
// isn't among them.
func (k *Keys) Led(by string) (*Keys, error) {
	for _, id := range k.identities {
		if by == "" || name(id) != by {
			continue
		}
		led := *k
		led.identities = slices.Concat([]age.Identity{id}, k.identities)
		led.recipient = id.(*age.X25519Identity).Recipient()
		return &led, nil
	}
	return nil, errors.NotFoundf("key %q for secrets", by)
}

// Opener is the name of the key that opens what was sealed. The error is ErrWrongKey where no
// key fits.
func (k *Keys) Opener(sealed []byte) (string, error) {
	for _, id := range k.identities {
		if _, err := age.Decrypt(bytes.NewReader(sealed), id); err == nil {
			return name(id), nil
		}
	}
	return "", errors.WithType(ErrWrongKey, ErrWrongKey)
}

// Newest are the keys without all but the first.
func (k *Keys) Newest() (*Keys, error) {
	return Parse(k.identities[0].(*age.X25519Identity).String() + "\n")
}

// Seal encrypts.
func (k *Keys) Seal(plain []byte) ([]byte, error) { return seal(k.recipient, plain) }

func seal(to age.Recipient, plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := age.Encrypt(&b, to)
	if err != nil {
		return nil, errors.Annotate(err, "cannot seal")
	}
	if _, err := w.Write(plain); err != nil {
		return nil, errors.Annotate(err, "cannot seal")
	}
	if err := w.Close(); err != nil {
		return nil, errors.Annotate(err, "cannot seal")
	}
	return b.Bytes(), nil
}

// Open decrypts. The error is ErrWrongKey where no key fits.
func (k *Keys) Open(sealed []byte) ([]byte, error) {
	r, err := age.Decrypt(bytes.NewReader(sealed), k.identities...)
	var none *age.NoIdentityMatchError
	if errors.As(err, &none) {
		return nil, errors.WithType(ErrWrongKey, ErrWrongKey)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot open what was sealed")
	}
	plain, err := io.ReadAll(r)
	return plain, errors.Annotate(err, "cannot open what was sealed")
}
