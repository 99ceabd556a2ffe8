package machine

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// storeFile says in a model's directory which store the model is in.
const storeFile = "store"

// noteStore notes which store a model is in, before anything else is there.
func (a *agent) noteStore(uuid string) error {
	if a.Store == "" {
		return nil
	}
	dir := ModelDir(a.Dir, uuid)
	if of, other := a.ofOtherStore(uuid); of != "" && !other {
		return nil
	}
	if err := a.Disk.MkdirAll(dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(a.Disk.ReplaceFile(filepath.Join(dir, storeFile), []byte(a.Store+"\n"), 0o600))
}

// ofOtherStore is the store that a model is in of which there is a directory, and
// says whether it is another one than the agent's: one that knows nothing of the
// model proves nothing then. Empty where nobody has noted it.
func (a *agent) ofOtherStore(uuid string) (of string, other bool) {
	b, err := os.ReadFile(filepath.Join(ModelDir(a.Dir, uuid), storeFile))
	if os.IsNotExist(err) || a.Store == "" {
		return "", false
	}
	of = strings.TrimSpace(string(b))
	return of, err != nil || of != a.Store
}
