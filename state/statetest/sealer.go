package statetest

import "github.com/unitd/unitd/state"

// Keys are those of package sealed.
type Keys interface {
	Seal(plain []byte) ([]byte, error)
	Open(sealed []byte) ([]byte, error)
}

// Sealer seals with keys that all have, and that have no names.
func Sealer(keys Keys) state.Sealer {
	return state.Sealer{
		Seal: func(plain []byte, _ string) ([]byte, string, error) {
			sealed, err := keys.Seal(plain)
			return sealed, "", err
		},
		Open: keys.Open,
	}
}
