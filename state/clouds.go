package state

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Credentials are those that the controller has recorded, by cloud.
func (c *Controller) Credentials(ctx context.Context) (map[string]model.CloudCredentials, error) {
	doc, err := c.Identity(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return c.openCredentials(doc)
}

func (c *Controller) openCredentials(doc ControllerDoc) (map[string]model.CloudCredentials, error) {
	all := map[string]model.CloudCredentials{}
	if len(doc.Credentials) == 0 {
		return all, nil
	}
	plain, err := c.sealer.Open(doc.Credentials)
	if err == nil {
		err = json.Unmarshal(plain, &all)
	}
	return all, errors.Annotate(err, "cannot read the credentials of the controller")
}

// ChangeCredentials changes those that the controller has recorded. They are stored
// sealed, as secrets are.
func (c *Controller) ChangeCredentials(ctx context.Context, change func(map[string]model.CloudCredentials) error) error {
	_, err := c.ChangeIdentity(ctx, func(doc *ControllerDoc) error {
		all, err := c.openCredentials(*doc)
		if err != nil {
			return errors.Trace(err)
		}
		if err := change(all); err != nil {
			return errors.Trace(err)
		}
		plain, err := json.Marshal(all)
		if err != nil {
			return errors.Trace(err)
		}
		doc.Credentials, doc.SealedWith, err = c.sealer.sealBy(doc.SealedWith, plain)
		return errors.Annotate(err, "cannot seal the credentials")
	})
	return errors.Trace(err)
}

// SealAnew seals the credentials of the controller with the newest key, if it has any,
// and refuses earlier ones from then on.
func (c *Controller) SealAnew(ctx context.Context) error {
	doc, err := c.ChangeIdentity(ctx, func(doc *ControllerDoc) (err error) {
		if c.sealer.Newest != nil {
			doc.SealedWith, err = c.sealer.Newest()
		}
		return errors.Trace(err)
	})
	if err != nil || len(doc.Credentials) == 0 {
		return errors.Trace(err)
	}
	return c.ChangeCredentials(ctx, func(map[string]model.CloudCredentials) error { return nil })
}
