package bundle

import (
	"fmt"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
)

// storedCopy is a charm of a model of this store, as a file.
type storedCopy struct {
	state.CharmDoc
	path string
}

// copyStored writes a charm that models of this store have to a temporary file, which
// the caller removes. The model at hand counts first; of others all that have the URL
// must have the same charm. So what export-bundle prints can be deployed again.
// Source: docs/spec/juju-clients.md §13.3.
func (b *Applier) copyStored(url string) (*storedCopy, error) {
	m, doc, err := b.findStored(url)
	if err != nil {
		return nil, err
	}
	f, err := os.CreateTemp("", "unitd-*.charm")
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read charm %s", url)
	}
	err = m.CharmContent(b.Context(), url, f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return nil, errors.Annotatef(err, "cannot read charm %s", url)
	}
	return &storedCopy{doc, f.Name()}, nil
}

// findStored finds the model that has a charm.
func (b *Applier) findStored(url string) (*state.Model, state.CharmDoc, error) {
	own, err := b.Model()
	if err != nil {
		return nil, state.CharmDoc{}, err
	}
	found, err := own.Charm(b.Context(), url)
	if err == nil || !errors.Is(err, errors.NotFound) {
		return own, found, err
	}
	c, err := b.Open()
	if err != nil {
		return nil, found, err
	}
	infos, err := c.Models(b.Context())
	if err != nil {
		return nil, found, err
	}
	var in *state.Model
	for _, info := range infos {
		m := c.Open(info)
		doc, err := m.Charm(b.Context(), url)
		switch {
		case errors.Is(err, errors.NotFound):
			continue
		case err != nil:
			return nil, doc, err
		case in != nil && doc.SHA256 != found.SHA256:
			return nil, doc, errors.NewNotValid(nil, fmt.Sprintf("charm %s is another one in the model %q than in %q: put the path of the one that is meant", url, in.Name(), m.Name()))
		}
		in, found = m, doc
	}
	if in == nil {
		return nil, found, errors.NewNotFound(nil, fmt.Sprintf("no model here has the charm %s: put the charm's path", url))
	}
	return in, found, nil
}
