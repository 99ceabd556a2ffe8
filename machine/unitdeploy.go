package machine

import (
	"context"
	"io"
	"path/filepath"

	"github.com/juju/errors"
)

// deploy gets the charm from the model and puts it in place.
func (u *unit) deploy(ctx context.Context, url string) error {
	put, done, err := u.getCharm(ctx, url)
	if err != nil {
		return errors.Trace(err)
	}
	defer done()
	if err := u.liveAs(ctx, url); err != nil {
		return errors.Trace(err)
	}
	if err := put(ctx); err != nil {
		return errors.Trace(err)
	}
	if err := u.seeCharm(); err != nil {
		return errors.Trace(err)
	}
	u.noteKept()
	u.files.Forget()
	return u.model.SetUnitCharm(ctx, u.name, url)
}

// getCharm gets a charm's content, once for all units that want it at the time; put puts
// it in place, and done is called when that is over. Where units can share the charm's
// bytes it is unpacked already if another one has it.
func (u *unit) getCharm(ctx context.Context, url string) (put func(context.Context) error, done func(), err error) {
	doc, err := u.model.Charm(ctx, url)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	fetch := func(ctx context.Context, w io.Writer) error { return u.model.CharmContent(ctx, url, w) }
	if u.charms.Shares() {
		tree, done, err := u.charms.Tree(ctx, doc.SHA256, fetch)
		return func(ctx context.Context) error { return u.charm.DeployTree(ctx, tree, url) }, done, errors.Trace(err)
	}
	archive, done, err := u.charms.Archive(ctx, doc.SHA256, fetch)
	return func(ctx context.Context) error { return u.charm.Deploy(ctx, archive, url) }, done, errors.Trace(err)
}

// clearArchives removes what an earlier version, which had archives in the directories of
// their units, has left of a deployment in which it was killed.
func (u *unit) clearArchives() error {
	left, err := filepath.Glob(filepath.Join(u.dir, "archive-*"))
	for _, path := range left {
		if err := u.disk.Remove(path); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(err)
}
