package agent

import (
	"context"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/service"
	"github.com/unitd/unitd/state"
)

// SecretKeyVariable has the keys for secrets, where they aren't to be in a file.
const SecretKeyVariable = "UNITD_SECRET_KEY"

func secretKeyFile(dir string) string { return filepath.Join(dir, "secret.key") }

// secretKeyCredential is the credential of a service that has the keys for secrets.
const secretKeyCredential = "secret-key"

// givenKeys are the keys for secrets that the environment has or says how to get, or a
// credential of this service has; nil: none of them does, and they are in the data directory.
func givenKeys() (*sealed.Keys, error) { return givenAgain(false) }

// givenAgain is givenKeys; renew: those that it was asked for last don't fit.
func givenAgain(renew bool) (*sealed.Keys, error) {
	if text := os.Getenv(SecretKeyVariable); text != "" {
		k, err := sealed.Parse(text)
		return k, errors.Annotate(err, "cannot use "+SecretKeyVariable)
	}
	if line := commandForKeys(); line != "" {
		return keysByCommand.read(line, renew)
	}
	path, ok := service.Credential(secretKeyCredential)
	if !ok {
		return nil, nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read the credential %s", secretKeyCredential)
	}
	k, err := sealed.Parse(string(b))
	return k, errors.Annotatef(err, "cannot use the credential %s", secretKeyCredential)
}

// keysAreGiven says whether givenKeys are any; what is wrong with them is said by who reads them.
func keysAreGiven() bool {
	_, credential := service.Credential(secretKeyCredential)
	return credential || os.Getenv(SecretKeyVariable) != "" || os.Getenv(SecretKeyCommandVariable) != ""
}

// secretKeys are the keys for secrets: those that were given, or those of
// the file in the data directory, which is made if it isn't there.
func secretKeys(dir string) (*sealed.Keys, error) {
	if given, err := givenKeys(); err != nil || given != nil {
		return given, err
	}
	return sealed.ReadOrMake(secretKeyFile(dir))
}

// hasSecretKeys says whether there are keys that secretKeys needn't make.
func hasSecretKeys(dir string) bool {
	if keysAreGiven() {
		return true
	}
	_, err := os.Stat(secretKeyFile(dir))
	return !os.IsNotExist(err)
}

// keyring is where a command finds keys for secrets.
type keyring struct {
	dir string
	// served asks the agent that serves the store for them; nil: they are in the directory.
	served func() (*sealed.Keys, error)
}

// read reads the keys; renew: those that it has read last don't fit.
func (r keyring) read(renew bool) (*sealed.Keys, error) {
	if given, err := givenAgain(renew); err != nil || given != nil {
		return given, err
	}
	if r.served != nil {
		return r.served()
	}
	return sealed.ReadOrMake(secretKeyFile(r.dir))
}

// soon is read for who holds others up: the error is ErrKeysAwaited where a command has to run
// first.
func (r keyring) soon(renew bool) (*sealed.Keys, error) {
	line := commandForKeys()
	if line == "" {
		return r.read(renew)
	}
	keys, running, err := keysByCommand.soon(line, renew)
	if running != nil {
		return nil, errors.Trace(state.ErrKeysAwaited)
	}
	return keys, err
}

// has says whether there are keys that read needn't make.
func (r keyring) has() bool { return r.served != nil || hasSecretKeys(r.dir) }

// Sealer seals secrets with the keys of a data directory, which are read when
// they are first needed: most commands have nothing to do with secrets. Keys
// that have changed since, as by rotate-secret-key, are read again where those
// that are known don't fit. waits says whether the keys, if there are none, come from another
// host; nil: they never do.
func Sealer(dir string, waits func() bool) state.Sealer { return keyring{dir: dir}.sealer(waits) }

func (r keyring) sealer(waits func() bool) state.Sealer {
	var known atomic.Pointer[sealed.Keys]
	s, soon := r.sealerBy(r.read, waits, &known), r.sealerBy(r.soon, waits, &known)
	soon.Await = keysByCommand.await
	s.Soon = &soon
	return s
}

// sealerBy is a sealer that reads its keys so, and what it knows of them.
func (r keyring) sealerBy(read func(renew bool) (*sealed.Keys, error), waits func() bool, known *atomic.Pointer[sealed.Keys]) state.Sealer {
	_, had := service.Credential(secretKeyCredential)
	keys := func(again, renew bool) (*sealed.Keys, error) {
		if k := known.Load(); k != nil && !again && !renew {
			return k, nil
		}
		if _, has := service.Credential(secretKeyCredential); had && !has && !keysAreGiven() {
			return nil, errors.Errorf("the credential %s of this service is gone: start it again", secretKeyCredential) // no other key is to be made
		}
		k, err := read(renew)
		if err == nil {
			known.Store(k)
		}
		return k, errors.Trace(err)
	}
	return state.Sealer{
		Seal: func(plain []byte, key string) ([]byte, string, error) {
			switch none := !had && !r.has(); {
			case none && key != "":
				return nil, "", errors.NotFoundf("key for secrets") // nor is one made that is of no use
			case none && waits != nil && waits():
				return nil, "", errors.Trace(errNoKeysYet)
			}
			// The newest key, also if it is newer than this process.
			k, err := keys(true, false)
			if err == nil && key != "" {
				var led *sealed.Keys
				if led, err = k.Led(key); errors.Is(err, errors.NotFound) {
					if k, err = keys(true, true); err == nil {
						led, err = k.Led(key)
					}
				}
				k = led
			}
			if err != nil {
				return nil, "", errors.Trace(err)
			}
			sealed, err := k.Seal(plain)
			return sealed, k.Name(), errors.Trace(err)
		},
		Newest: func() (string, error) {
			if !had && !r.has() && waits != nil && waits() {
				return "", errors.Trace(errNoKeysYet)
			}
			k, err := keys(true, true)
			if err != nil {
				return "", errors.Trace(err)
			}
			return k.Name(), nil
		},
		Opener: func(text []byte) (string, error) {
			if !had && !r.has() {
				return "", errors.Trace(sealed.ErrWrongKey)
			}
			k, err := keys(true, false)
			if err != nil {
				return "", errors.Trace(err)
			}
			by, err := k.Opener(text)
			if errors.Is(err, sealed.ErrWrongKey) {
				if k, err = keys(true, true); err == nil {
					by, err = k.Opener(text)
				}
			}
			return by, errors.Trace(err)
		},
		Open: func(text []byte) ([]byte, error) {
			if !had && !r.has() {
				return nil, errors.Trace(sealed.ErrWrongKey)
			}
			k, err := keys(false, false)
			if err != nil {
				return nil, errors.Trace(err)
			}
			plain, err := k.Open(text)
			if !errors.Is(err, sealed.ErrWrongKey) {
				return plain, errors.Trace(err)
			}
			if k, err = keys(true, true); err != nil {
				return nil, errors.Trace(err)
			}
			return k.Open(text)
		},
	}
}

// RotateSecretKey seals the secrets of all models with a new key, and says how many
// revisions that were. With lost, what can't be opened is named, and left as it is; else that
// is an error, and so is it, before anything is changed, if this host hasn't the key in use.
func (h *Host) RotateSecretKey(lost bool) (total int, err error) {
	if h.StoreIsServed() {
		return 0, errors.New("the keys for secrets are in the data directory of the agent that serves the store: run this there, as its user")
	}
	c, err := h.Open()
	if err != nil {
		return total, err
	}
	if !lost {
		if err := HasKeys(h.ctx, c, "cannot change the key of"); err != nil {
			return total, err
		}
	}
	given, err := givenKeys()
	if err == nil && given == nil {
		err = h.keysAreMade()
	}
	if err != nil {
		return total, err
	}
	if given == nil {
		unlock, err := lockSecretKey(h.keys)
		if err != nil {
			return total, err
		}
		defer unlock()
		if err := h.addKey(c); err != nil {
			return total, err
		}
	}
	// Those who are to seal with it have it first.
	if err := h.shareAndWait(c, lost); err != nil {
		return total, err
	}
	total, closed, err := h.sealAnew(c, lost)
	if err != nil || given != nil || closed {
		return total, err
	}
	if err := dropOldSecretKeys(h.keys); err != nil {
		return total, err
	}
	_, err = h.share(c)
	return total, err
}

// HasKeys is the error if this host hasn't the keys that are in use; it begins with what can't be
// done for that: "cannot change the key of".
func HasKeys(ctx context.Context, c *state.Controller, cannot string) error {
	if err := c.HasKey(ctx); err != nil {
		return errors.Annotate(err, cannot+" the controller")
	}
	infos, err := c.Models(ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		if err := c.Open(info).HasKey(ctx); err != nil {
			return errors.Annotatef(err, "%s model %q", cannot, info.Name)
		}
	}
	return nil
}

// sealAnew takes the newest key into use everywhere, and then seals all with it. closed says
// that something couldn't be opened. Whatever fails, the others have their turn.
func (h *Host) sealAnew(c *state.Controller, lost bool) (total int, closed bool, err error) {
	// Listed once the new key is there, which a model that is made later begins with.
	infos, err := c.Models(h.ctx)
	if err != nil {
		return 0, false, err
	}
	failed := func(one error, format string, args ...any) {
		switch {
		case one == nil || errors.Is(one, errors.NotFound): // or a model that is gone
		case lost && errors.Is(one, state.ErrSealed):
			closed = true
			h.Note("%v: give it new content, or remove it", one)
		case err == nil:
			err = errors.Annotatef(one, format, args...)
		}
	}
	failed(c.SealAnew(h.ctx, lost), "cannot seal the credentials of the controller anew: the old key is kept, run this again")
	for _, info := range infos {
		failed(c.Open(info).UseNewestKey(h.ctx), "cannot change the key of model %q: the old key is kept, run this again", info.Name)
	}
	for _, info := range infos {
		n, one := c.Open(info).SealAnew(h.ctx)
		failed(one, "cannot seal the secrets of model %q anew: the old key is kept, run this again", info.Name)
		total += n
	}
	return total, closed, err
}

// lockSecretKey has one rotate-secret-key run at a time: of two that add a key at
// once one would lose the other's, with which secrets may be sealed already.
func lockSecretKey(dir string) (unlock func(), err error) {
	f, err := os.OpenFile(secretKeyFile(dir)+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Annotate(err, "cannot lock the key file")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		f.Close()
		return nil, errors.NewAlreadyExists(nil, "another rotate-secret-key runs: wait until it has ended")
	}
	return func() { f.Close() }, nil
}

// keysAreMade is an error unless keys for secrets are made on this host: on etcd, where the
// agent that has the models is.
func (h *Host) keysAreMade() error {
	if etcd, err := h.onEtcd(); err != nil || !etcd {
		return err
	}
	managed, err := h.ManagedElsewhere(h.keys)
	if err != nil {
		return errors.Trace(err)
	}
	if managed != nil || h.keysComeFromElsewhere(h.keys) {
		return errors.New("the keys for secrets come from the host of the agent that has the models: run this there")
	}
	return nil
}

// addKey adds a new key, unless one is there that an earlier rotate-secret-key has added and
// no model uses yet.
func (h *Host) addKey(c *state.Controller) error {
	keys, err := secretKeys(h.keys)
	if err != nil {
		return err
	}
	if len(keys.Names()) == 1 {
		return addSecretKey(h.keys)
	}
	infos, err := c.Models(h.ctx)
	if err != nil {
		return err
	}
	for _, info := range infos {
		inUse, err := c.Open(info).KeyInUse(h.ctx)
		if err != nil {
			return err
		}
		if inUse == keys.Name() {
			return addSecretKey(h.keys)
		}
	}
	return nil
}

// addSecretKey puts a new key before those that there are.
func addSecretKey(dir string) error {
	old, err := secretKeys(dir)
	if err != nil {
		return err
	}
	fresh, err := sealed.Generate()
	if err != nil {
		return err
	}
	both, err := fresh.Before(old)
	if err != nil {
		return err
	}
	return both.WriteFile(secretKeyFile(dir))
}

// dropOldSecretKeys leaves the newest key alone.
func dropOldSecretKeys(dir string) error {
	keys, err := secretKeys(dir)
	if err != nil {
		return err
	}
	newest, err := keys.Newest()
	if err != nil {
		return err
	}
	return newest.WriteFile(secretKeyFile(dir))
}
