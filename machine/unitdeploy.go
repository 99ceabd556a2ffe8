package machine

import (
	"context"
	"io"

	"github.com/juju/errors"
)

// archivePattern names the charm archives that are being deployed.
const archivePattern = "archive-*"

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
	return u.model.SetUnitCharm(ctx, u.name, url)
}

// getCharm gets a charm's content; put puts it in place, and done is called when that
// is over. Where units can share the charm's bytes it is unpacked already if another
// one has it, else it is this unit's own.
func (u *unit) getCharm(ctx context.Context, url string) (put func(context.Context) error, done func(), err error) {
	if !u.charms.Shares() {
		return u.getArchive(ctx, url)
	}
	doc, err := u.model.Charm(ctx, url)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	tree, done, err := u.charms.Tree(ctx, doc.SHA256, func(ctx context.Context, w io.Writer) error {
		return u.model.CharmContent(ctx, url, w)
	})
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	return func(ctx context.Context) error { return u.charm.DeployTree(ctx, tree, url) }, done, nil
}

// getArchive is getCharm of an archive that is the unit's own.
func (u *unit) getArchive(ctx context.Context, url string) (put func(context.Context) error, done func(), err error) {
	f, err := u.disk.CreateTemp(u.dir, archivePattern)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	done = func() { _ = u.disk.Remove(f.Name()) } // else the next agent does
	err = u.model.CharmContent(ctx, url, f)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		done()
		return nil, nil, errors.Trace(err)
	}
	return func(ctx context.Context) error { return u.charm.Deploy(ctx, f.Name(), url) }, done, nil
}
