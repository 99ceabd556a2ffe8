package script

import (
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
)

// secretKeyVariable would have the keys of who runs the scripts. Worlds have keys of their
// own.
const secretKeyVariable = "UNITD_SECRET_KEY"

// sealer seals the secrets of stubs with the keys in a world's data directory, which its
// agent and the programs that a script runs have theirs from. They are read each time: a
// script can change them, or restore others.
func sealer(dir string) state.Sealer {
	keys := func() (*sealed.Keys, error) { return sealed.ReadOrMake(filepath.Join(dir, "secret.key")) }
	return state.Sealer{
		Seal: func(plain []byte, key string) ([]byte, string, error) {
			k, err := keys()
			if err == nil && key != "" {
				k, err = k.Led(key)
			}
			if err != nil {
				return nil, "", errors.Trace(err)
			}
			b, err := k.Seal(plain)
			return b, k.Name(), errors.Trace(err)
		},
		Open: func(b []byte) ([]byte, error) {
			k, err := keys()
			if err != nil {
				return nil, errors.Trace(err)
			}
			return k.Open(b)
		},
		Opener: func(b []byte) (string, error) {
			k, err := keys()
			if err != nil {
				return "", errors.Trace(err)
			}
			return k.Opener(b)
		},
		Newest: func() (string, error) {
			k, err := keys()
			if err != nil {
				return "", errors.Trace(err)
			}
			return k.Name(), nil
		},
	}
}
