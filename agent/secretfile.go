package agent

import (
	"os"
	"strings"

	"github.com/juju/errors"
)

// ReadSecret reads a secret from a file, which may be read by its owner alone. A line's
// end after it is no part of it.
func ReadSecret(path string) (string, error) {
	if err := checkSecret(path); err != nil {
		return "", err
	}
	b, err := os.ReadFile(path)
	return strings.TrimRight(string(b), "\r\n"), errors.Trace(err)
}

// KeysForSecrets are the keys for secrets of a data directory, those of the environment or of a
// credential of this service if it has some, as they are now; none where no secret was ever made.
func KeysForSecrets(dir string) ([]byte, error) {
	given, err := givenAgain(true)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if given != nil {
		return []byte(given.Text()), nil
	}
	b, err := os.ReadFile(secretKeyFile(dir))
	if os.IsNotExist(err) {
		return nil, nil
	}
	return b, errors.Annotate(err, "cannot read the keys for secrets")
}
