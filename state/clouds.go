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

// HasKey is ErrOtherKey if this host hasn't the key that the controller's credentials are
// sealed with.
func (c *Controller) HasKey(ctx context.Context) error {
	doc, err := c.Recorded(ctx)
	if err != nil || doc.SealedWith == "" {
		return errors.Trace(err)
	}
	_, _, err = c.sealer.sealBy(doc.SealedWith, []byte("is it there?"))
	return errors.Trace(err)
}

// SealAnew seals the credentials of the controller with the newest key, if it has any, and
// refuses earlier ones from then on. With lost, credentials that can't be opened are dropped.
func (c *Controller) SealAnew(ctx context.Context, lost bool) error {
	_, err := c.ChangeIdentity(ctx, func(doc *ControllerDoc) (err error) {
		var key string
		if c.sealer.Newest != nil {
			if key, err = c.sealer.Newest(); err != nil {
				return errors.Trace(err)
			}
		}
		doc.SealedWith = key
		if len(doc.Credentials) == 0 {
			return nil
		}
		plain, err := c.sealer.Open(doc.Credentials)
		if err != nil && lost {
			doc.Credentials = nil
			return nil
		}
		if err != nil {
			return errors.Annotate(err, "cannot read the credentials of the controller")
		}
		doc.Credentials, _, err = c.sealer.Seal(plain, key)
		return errors.Trace(err)
	})
	return errors.Trace(err)
}
