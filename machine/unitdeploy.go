package machine

import (
	"context"

	"github.com/juju/errors"
)

// archivePattern names the charm archives that are being deployed.
const archivePattern = "archive-*"

// deploy gets the charm's archive from the model and puts it in place.
func (u *unit) deploy(ctx context.Context, url string) error {
	f, err := u.disk.CreateTemp(u.dir, archivePattern)
	if err != nil {
		return errors.Trace(err)
	}
	defer func() { _ = u.disk.Remove(f.Name()) }() // else the next agent does
	defer f.Close()
	if err := u.model.CharmContent(ctx, url, f); err != nil {
		return errors.Trace(err)
	}
	if err := f.Close(); err != nil {
		return errors.Trace(err)
	}
	if err := u.liveAs(ctx, url); err != nil {
		return errors.Trace(err)
	}
	if err := u.charm.Deploy(ctx, f.Name(), url); err != nil {
		return errors.Trace(err)
	}
	if err := u.seeCharm(); err != nil {
		return errors.Trace(err)
	}
	u.noteKept()
	return u.model.SetUnitCharm(ctx, u.name, url)
}
