package state

import (
	"context"
	"encoding/json"
	"maps"

	"github.com/google/uuid"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// HostRegion is the region of the cloud that a host is, in which all models are.
const HostRegion = "host"

// controllerKey is where a store says what it is itself.
const controllerKey = "controller/info"

// ControllerDoc is what a store is as a controller: by its UUID tools tell it from
// others, wherever its file is.
type ControllerDoc struct {
	UUID string `json:"uuid"`
	// Config and Asked are what was said when it was made, or later: only people are
	// told. Asked is by flag of bootstrap.
	Config map[string]string   `json:"config,omitempty"`
	Asked  map[string][]string `json:"asked,omitempty"`
	// Defaults are the configuration of models that are added later, and RegionDefaults
	// those of a region, which win there.
	Defaults       map[string]string            `json:"defaults,omitempty"`
	RegionDefaults map[string]map[string]string `json:"region-defaults,omitempty"`
	// Clouds are those that were added to it; Credentials is the JSON of
	// model.CloudCredentials by cloud, sealed.
	Clouds      map[string]model.Cloud `json:"clouds,omitempty"`
	Credentials []byte                 `json:"credentials,omitempty"`
	// SealedWith names the key of Credentials, see Sealer.
	SealedWith string `json:"sealed-with,omitempty"`
}

// ForModels is the configuration that models in a region are made with.
func (d ControllerDoc) ForModels(region string) map[string]string {
	values := maps.Clone(d.Defaults)
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, d.RegionDefaults[region])
	return values
}

// Identity reads what the store is as a controller. A store that nobody has asked yet
// gets its UUID then.
func (c *Controller) Identity(ctx context.Context) (ControllerDoc, error) {
	doc, err := c.Recorded(ctx)
	if err != nil || doc.UUID != "" {
		return doc, errors.Trace(err)
	}
	return c.ChangeIdentity(ctx, func(*ControllerDoc) error { return nil })
}

// Recorded is Identity without a change: of a store that nobody has asked yet it is zero.
func (c *Controller) Recorded(ctx context.Context) (doc ControllerDoc, err error) {
	_, err = c.store.View(ctx, func(r store.Reader) (err error) {
		doc, err = readController(r)
		return errors.Trace(err)
	})
	return doc, errors.Trace(err)
}

// ChangeIdentity changes what the store says of itself, and returns that.
func (c *Controller) ChangeIdentity(ctx context.Context, change func(*ControllerDoc) error) (ControllerDoc, error) {
	id, err := uuid.NewRandom()
	if err != nil {
		return ControllerDoc{}, errors.Annotate(err, "cannot make a controller's id")
	}
	var doc ControllerDoc
	_, err = c.store.Update(ctx, func(tx store.Tx) error {
		if doc, err = readController(tx); err != nil {
			return errors.Trace(err)
		}
		if doc.UUID == "" {
			doc.UUID = id.String()
		}
		if err := change(&doc); err != nil {
			return errors.Trace(err)
		}
		b, err := json.Marshal(doc)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(tx.Put(controllerKey, b))
	})
	return doc, errors.Trace(err)
}

func readController(r store.Reader) (doc ControllerDoc, err error) {
	kv, err := r.Get(controllerKey)
	if errors.Is(err, errors.NotFound) {
		return doc, nil
	}
	if err != nil {
		return doc, errors.Trace(err)
	}
	return doc, errors.Annotatef(json.Unmarshal(kv.Value, &doc), "document %s", controllerKey)
}
