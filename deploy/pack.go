package deploy

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Packed is a charm with its archive in a temporary file.
type Packed struct {
	*charmdir.Charm
	Sum string
	// Release is what it is in a hub; nil: it isn't from one.
	Release *charmhub.Release
	file    *os.File
	hold    *charmbuild.Hold // the packages that it was built with
	from    *state.CharmDoc  // where it has been stored before; nil: nowhere
}

// From says that the charm has been stored before, in another model maybe: it keeps its
// revision, and the tree that it was packed from.
func (p *Packed) From(doc state.CharmDoc) { p.from = &doc }

// Pack makes the charm's archive for units that are isolated so, and before that what
// a source tree lacks to run; the caller drops it.
func (d *Deployer) Pack(c *charmdir.Charm, i model.Isolation) (*Packed, error) {
	hooks, err := agent.HooksOf(i)
	if err != nil {
		return nil, err
	}
	p, err := d.PackFor(c, hooks)
	if err != nil {
		return nil, err
	}
	if err := d.notePackages(p.hold, p.Sum); err != nil {
		p.Drop()
		return nil, err
	}
	return p, nil
}

// PackFor is Pack for hooks that run in that place, without a note of which packages
// the charm was built with.
func (d *Deployer) PackFor(c *charmdir.Charm, hooks charmbuild.Place) (*Packed, error) {
	for _, hint := range c.Hints() {
		d.Note("WARNING %q %s", c.Name, hint)
	}
	hold, err := d.Build(c, hooks)
	if err != nil {
		return nil, err
	}
	d.holdPackages(hold)
	f, err := os.CreateTemp("", "unitd-charm-*")
	if err != nil {
		return nil, errors.Annotate(err, "cannot pack the charm")
	}
	p := &Packed{Charm: c, file: f, hold: hold}
	// Without a name it goes with this process, however that ends.
	if err := os.Remove(f.Name()); err != nil {
		p.Drop()
		return nil, errors.Annotate(err, "cannot pack the charm")
	}
	c.Plain = agent.PlainArchives()
	if p.Sum, err = c.Archive(f); err != nil {
		p.Drop()
		return nil, err
	}
	return p, nil
}

// Drop lets go of the archive.
func (p *Packed) Drop() {
	if p.file == nil {
		return
	}
	p.file.Close()
}

// Store adds the charm to the model and returns its URL.
func (p *Packed) Store(ctx context.Context, m *state.Model) (string, error) {
	if _, err := p.file.Seek(0, 0); err != nil {
		return "", errors.Annotate(err, "cannot pack the charm")
	}
	if r := p.Release; r != nil {
		return m.AddHubCharm(ctx, charmhub.Architecture(runtime.GOARCH), r.Name, r.Revision, p.Charm.Charm, p.Sum, p.file)
	}
	if p.from != nil {
		return m.AddCharmAs(ctx, p.from.Source, p.from.Revision, p.Charm.Charm, p.Sum, p.file)
	}
	source := ""
	if p.Dir {
		var err error
		if source, err = filepath.Abs(p.Path); err != nil {
			return "", errors.Annotate(err, "cannot pack the charm")
		}
	}
	return m.AddCharmFrom(ctx, source, p.Charm.Charm, p.Sum, p.file)
}

// AddCharm stores the charm in the model and returns its URL.
func (d *Deployer) AddCharm(m *state.Model, c Charm, i model.Isolation) (string, error) {
	p, err := d.Pack(c.Charm, i)
	if err != nil {
		return "", err
	}
	defer p.Drop()
	p.Release = c.Release
	return p.Store(d.Context(), m)
}

// WriteTo writes the archive as a file: whole, or not at all.
func (p *Packed) WriteTo(path string) error {
	if _, err := p.file.Seek(0, io.SeekStart); err != nil {
		return errors.Trace(err)
	}
	// It ends in .charm, so that nobody takes it for a part of the charm.
	f, err := os.CreateTemp(filepath.Dir(path), ".unitd-*.charm")
	if err != nil {
		return errors.Trace(err)
	}
	defer os.Remove(f.Name())
	_, err = io.Copy(f, p.file)
	if err == nil {
		err = f.Chmod(0o644)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(f.Name(), path))
}
