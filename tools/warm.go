package tools

import (
	"crypto/rand"
	_ "embed"
	"encoding/hex"
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

// zygote is the interpreter that stands ready; see docs/warm-python.md.
//
//go:embed zygote.py
var zygote string

// The files of a Warm's directory: what hooks find as Python, and the script of the
// interpreter that stands ready, without which the first one is the real Python.
const (
	pythonName = "python3"
	zygoteName = "zygote.py"
	// secretName has what only the unit's own hooks can know, where units are isolated,
	// and is another one for each agent.
	secretName = "secret"
)

// Warm is what has a unit's hooks run in an interpreter that has imported their packages
// before: a directory below that of the hook tools, which comes first on the PATH. It is
// for one goroutine.
type Warm struct{ dir *Dir }

// NewWarm is the directory below that of a unit's hook tools. client is the client of the
// hook tools that is written in Go: its path, of which the directory gets a copy, or, if
// it isn't absolute, what a link in the directory is to lead to.
func NewWarm(tools *Dir, client string) *Warm {
	d := &Dir{path: filepath.Join(tools.path, "warm"), client: client, links: Links{}}
	if filepath.IsAbs(client) && !isThis(client) {
		d.own = append(d.own, own{name: pythonName, from: client})
	} else {
		d.links[pythonName] = client
	}
	secret := make([]byte, 16)
	rand.Read(secret) // never fails: see its documentation
	d.own = append(d.own, own{name: zygoteName, text: zygote}, own{name: secretName, text: hex.EncodeToString(secret)})
	return &Warm{d}
}

// Name is the directory's name in that of the hook tools.
func (w *Warm) Name() string { return filepath.Base(w.dir.path) }

// Mend makes the directory what it is to be; see Dir.Mend.
func (w *Warm) Mend() error {
	_, err := w.dir.Mend()
	return errors.Trace(err)
}

// End has hooks run in the real Python from now on. What was found on the PATH stays, as
// charms may have linked to it.
func (w *Warm) End() error {
	err := os.Remove(filepath.Join(w.dir.path, zygoteName))
	if os.IsNotExist(err) {
		return nil
	}
	return errors.Annotate(err, "cannot switch warm-python off")
}
