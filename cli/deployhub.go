package cli

import (
	"io"
	"os"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
)

// named is what a word of deploy names: a path, or a release in a hub.
// Source: docs/spec/juju-clients.md §10.2.
func (a charmVerbs) named(word string, f deployFlags) (path string, r *charmhub.Release, err error) {
	if bundle.Is(word) || deploy.IsPath(word) {
		path, err = a.Local(word)
		if bundle.Is(word) {
			path, err = word, nil // as it stands, so that a file needs no ./
		}
		return path, nil, err
	}
	if err := a.followed(f.hub); err != nil {
		return "", nil, err
	}
	if path, err = a.Local(word); err != nil || path != "" {
		return path, nil, err
	}
	base, err := f.parse(func(string, ...any) {})
	if err != nil {
		return "", nil, err
	}
	if f.force {
		base = model.Base{} // the hub would say that it has nothing for it
	}
	found, err := a.Resolve(deploy.Wanted{Word: word, Channel: f.hub.channel, Revision: f.hub.revision, Base: base})
	return "", &found, err
}

// deployRelease deploys what a hub has.
func (a charmVerbs) deployRelease(r charmhub.Release, name string, f deployFlags) error {
	if r.Type == charmhub.TypeBundle {
		return a.deployHubBundle(r, name, f)
	}
	if err := f.bundle.onCharm(); err != nil {
		return err
	}
	if err := f.hub.checkCharm(); err != nil {
		return err
	}
	if f.dryRun {
		return a.dryRun(r, name, f)
	}
	charm, err := a.Fetch(r)
	if err != nil {
		return err
	}
	return a.deployCharm(charm, name, f)
}

// dryRun says what would be deployed.
func (a charmVerbs) dryRun(r charmhub.Release, name string, f deployFlags) error {
	if name == "" {
		name = r.Name
	}
	charm := model.Charm{Name: r.Name, Bases: basesOf(r)}
	given, err := f.givenBase(charm, a.Note)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	ofModel, err := a.BaseOf(m)
	if err != nil {
		return err
	}
	a.Note("%s would be deployed", releaseText(name, r, charm.ChooseBase(given, ofModel).String()))
	return nil
}

// basesOf are the bases of a release.
func basesOf(r charmhub.Release) []model.Base {
	var bases []model.Base
	for _, b := range r.Bases {
		if base, err := model.ParseBase(b.String()); err == nil {
			bases = append(bases, base)
		}
	}
	return bases
}

// deployHubBundle deploys a bundle of a hub.
func (a charmVerbs) deployHubBundle(r charmhub.Release, name string, f deployFlags) error {
	if err := f.hub.checkBundle(); err != nil {
		return err
	}
	return a.deployRead("", name, f, func() (*bundle.Bundle, error) {
		a.Note("Located bundle %q in charm-hub, revision %d", r.Name, r.Revision)
		return a.readHubBundle(r, f.bundle.overlays)
	})
}

// readHubBundle reads a bundle of a hub, and lays overlays over it.
func (a charmVerbs) readHubBundle(r charmhub.Release, overlays []string) (*bundle.Bundle, error) {
	hub, err := a.Hub()
	if err != nil {
		return nil, err
	}
	kept, err := hub.Fetch(a.Context(), r)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "unitd-bundle-")
	if err != nil {
		return nil, errors.Annotate(err, "cannot unpack the bundle")
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, r.Name+".bundle")
	if err := copyTo(path, kept); err != nil {
		return nil, errors.Annotate(err, "cannot unpack the bundle")
	}
	return bundle.ReadForeign(path, overlays...)
}

func copyTo(path, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	if closed := out.Close(); err == nil {
		err = closed
	}
	return err
}
