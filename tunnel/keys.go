package tunnel

import (
	"github.com/juju/errors"
	"golang.zx2c4.com/wireguard/wgctrl/wgtypes"
)

// NewKey makes a private key.
func NewKey() (string, error) {
	k, err := wgtypes.GeneratePrivateKey()
	if err != nil {
		return "", errors.Annotate(err, "cannot make a key")
	}
	return k.String(), nil
}

// Public is the public key of a private one. The error is NotValid.
func Public(private string) (string, error) {
	k, err := wgtypes.ParseKey(private)
	if err != nil {
		return "", errors.NewNotValid(err, "the tunnel's key")
	}
	return k.PublicKey().String(), nil
}

// ValidKey says whether it can be a public key.
func ValidKey(public string) bool {
	_, err := wgtypes.ParseKey(public)
	return err == nil
}
