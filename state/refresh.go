package state

import (
	"context"
	"maps"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Refresh is what an application gets all at once. What is zero stays as it is.
type Refresh struct {
	// URL is that of its charm, which units in error get too if Force says so.
	URL   string
	Force bool
	// Resources are by the names of resources of the charm.
	Resources map[string]Content
	// Hub is what later refreshes follow.
	Hub *Hub
	// Config are options of the charm as text.
	Config map[string]string
	// Storage, which holds for later units and for storage that only this charm has, and
	// Bindings are laid over what the application has.
	Storage  map[string]model.StorageDirective
	Bindings model.Bindings
	Trust    *bool
	// Base is that of later units, as SetBase has it.
	Base model.Base
}

// Refresh changes what an Alive application is made of, and what is set of it with that,
// in one transaction: upgrade-charm runs with the new options, and nobody sees the half of
// it. The errors are those of SetCharm, SetResources,
// SetConfig and Bind, and NotValid for storage that no unit of that charm could have.
func (m *Model) Refresh(ctx context.Context, name string, r Refresh) error {
	return m.changeApplication(ctx, name, func(tx *txn, app *ApplicationDoc) error {
		was := app.made()
		url := r.URL
		if url == "" {
			url = app.Charm
		}
		charm, err := tx.charm(url)
		if err != nil {
			return errors.Trace(err)
		}
		if len(r.Storage) > 0 {
			if app.Storage, err = tx.storageWith(*app, charm.Charm, r.Storage); err != nil {
				return errors.Trace(err)
			}
		}
		if r.URL != "" {
			if err := tx.setCharm(app, r.URL, r.Force); err != nil {
				return errors.Trace(err)
			}
		}
		if err := tx.give(app, charm.Charm, r.Resources); err != nil {
			return err
		}
		if err := tx.refreshOptions(app.Name, charm.Charm, r.Config); err != nil {
			return errors.Trace(err)
		}
		if len(r.Bindings) > 0 {
			if app.Bindings, err = tx.bound(app.Bindings, r.Bindings, charm.Charm); err != nil {
				return errors.Trace(err)
			}
		}
		if r.Base != (model.Base{}) {
			if err := tx.setBase(app, r.Base); err != nil {
				return errors.Trace(err)
			}
		}
		if r.Trust != nil {
			app.Trust = *r.Trust
		}
		if r.Hub != nil {
			app.Hub = r.Hub
		}
		app.remember(was)
		return nil
	})
}

// refreshOptions sets options of a charm that an application is only just getting.
func (t *txn) refreshOptions(application string, charm model.Charm, set map[string]string) error {
	if len(set) == 0 {
		return nil
	}
	values, err := charm.ParseConfig(set)
	if err != nil {
		return errors.NewNotValid(nil, "parsing settings for application: "+err.Error())
	}
	var conf configDoc
	if _, err := t.find(configKey(application), &conf); err != nil {
		return errors.Trace(err)
	}
	if conf.Values == nil {
		conf.Values = map[string]any{}
	}
	maps.Copy(conf.Values, values)
	return t.put(configKey(application), conf)
}
