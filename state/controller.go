package state

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/uuid"
	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Controller is a store with its models.
type Controller struct {
	// plain is the store as it was given; store verifies its documents.
	plain  store.Store
	store  store.Store
	clock  clock.Clock
	sealer Sealer
	// command is what the command line is called, for people; name what the controller is.
	command, name string
	cause         string        // see WithCause
	author        func() Author // see WithAuthor; nil: nobody's command
	// oneHost: the store is of one host, see WithOneHost.
	oneHost bool
	// manager is the agent that has the controller, see ManagedBy; nil: whoever.
	manager *manager
	charms  *charmCaches
}

const modelsPrefix = "models/"

// NewController opens the models in s. The store stays the caller's to close.
func NewController(s store.Store, c clock.Clock) *Controller {
	return &Controller{plain: s, store: checked{s}, clock: c, command: "unitd", name: "unitd", charms: &charmCaches{models: map[string]*charmCache{}}}
}

// WithCommand is the controller for a command line of another name than unitd,
// which messages that name a command have in them.
func (c *Controller) WithCommand(name string) *Controller {
	with := *c
	with.command = name
	return &with
}

// WithCause is the controller for somebody who is part of a trace: what is written has
// this traceparent. See Origin.
func (c *Controller) WithCause(traceparent string) *Controller {
	with := *c
	with.cause = traceparent
	return &with
}

// WithName is the controller under another name than unitd.
func (c *Controller) WithName(name string) *Controller {
	with := *c
	with.name = name
	return &with
}

// Name is what people call it.
func (c *Controller) Name() string { return c.name }

// WithOneHost is the controller for a store that one host has: units don't wait
// there for a machine that nobody has joined, unless they are placed on it.
func (c *Controller) WithOneHost() *Controller {
	with := *c
	with.oneHost = true
	return &with
}

// WithSealer is the controller with what encrypts the content of secrets;
// without it there can be none.
func (c *Controller) WithSealer(s Sealer) *Controller {
	with := *c
	with.sealer = s
	return &with
}

// Through is the controller with something between the models and their store.
func (c *Controller) Through(between store.Store) *Controller {
	with := *c
	with.plain, with.store = between, checked{between}
	return &with
}

// Store is the store that the models are in. What is read of it directly has
// checksums, which nobody has verified.
func (c *Controller) Store() store.Store { return c.plain }

// AddModel makes an empty model. Errors: NotValid for a bad name,
// AlreadyExists.
func (c *Controller) AddModel(ctx context.Context, name string) (*Model, error) {
	return c.AddModelOf(ctx, name, IAAS)
}

// AddModelOf is AddModel for a model of that type.
func (c *Controller) AddModelOf(ctx context.Context, name string, kind ModelType) (*Model, error) {
	if !model.ValidModelName(name) {
		return nil, errors.NewNotValid(nil, fmt.Sprintf(
			"%q is not a valid name: model names may only contain lowercase letters, digits and hyphens", name))
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a model's id")
	}
	info := ModelInfo{Name: name, UUID: id.String(), Created: c.clock.Now().UTC(), Type: kind}
	_, err = c.store.Update(ctx, func(tx store.Tx) error {
		_, err := tx.Get(modelsPrefix + name)
		if err == nil {
			return errors.NewAlreadyExists(nil, fmt.Sprintf(
				"failed to create new model: model %q for admin already exists (already exists)", name))
		}
		if !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		identity, err := readController(tx)
		if err != nil {
			return errors.Trace(err)
		}
		return c.open(info).logging(tx, func(t *txn) error {
			if values := identity.ForModels(HostRegion); len(values) > 0 {
				if err := t.put(modelConfigKey, values); err != nil {
					return errors.Trace(err)
				}
			}
			return putInfo(t.tx, info)
		})
	})
	if err != nil {
		return nil, errors.Trace(err)
	}
	return c.open(info), nil
}

func putInfo(tx store.Tx, info ModelInfo) error {
	b, err := json.Marshal(info)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(tx.Put(modelsPrefix+info.Name, b))
}

func (c *Controller) open(info ModelInfo) *Model {
	info.controller = c.name
	return &Model{info: info, store: c.store, clock: c.clock, sealer: c.sealer.soon(), command: c.command, by: c.cause, author: c.author, oneHost: c.oneHost, managed: c.manager, charms: c.charms.of(info.UUID)}
}

// Models are all models by name.
func (c *Controller) Models(ctx context.Context) ([]ModelInfo, error) {
	var infos []ModelInfo
	_, err := c.store.View(ctx, func(r store.Reader) error {
		infos = nil
		kvs, err := r.List(modelsPrefix)
		if err != nil {
			return errors.Trace(err)
		}
		for _, kv := range kvs {
			var info ModelInfo
			if err := json.Unmarshal(kv.Value, &info); err != nil {
				return errors.Annotatef(err, "document %s", kv.Key)
			}
			infos = append(infos, info)
		}
		return nil
	})
	if err != nil {
		return nil, errors.Trace(err)
	}
	slices.SortFunc(infos, func(a, b ModelInfo) int { return strings.Compare(a.Name, b.Name) })
	c.charms.keep(infos)
	return infos, nil
}

// Model opens a model by name; errors.NotFound if there is none.
func (c *Controller) Model(ctx context.Context, name string) (*Model, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return c.Among(infos, name)
}

// Among opens the model of that name among those that Models has listed;
// errors.NotFound if it isn't there.
func (c *Controller) Among(infos []ModelInfo, name string) (*Model, error) {
	for _, info := range infos {
		if info.Name == name {
			return c.open(info), nil
		}
	}
	return nil, errors.NewNotFound(nil, fmt.Sprintf("model %s:admin/%s not found", c.name, name))
}

// ByUUID opens the model with that UUID; NotFound if there is none.
func (c *Controller) ByUUID(ctx context.Context, id string) (*Model, error) {
	infos, err := c.Models(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for _, info := range infos {
		if info.UUID == id {
			return c.open(info), nil
		}
	}
	return nil, errors.NewNotFound(nil, "the store has no model with the id "+id)
}

// Open is the model with that document, as Models lists it.
func (c *Controller) Open(info ModelInfo) *Model { return c.open(info) }

// Watch tells when models are added, change their life, or go; see
// store.Store.Watch for from and the channel.
func (c *Controller) Watch(ctx context.Context, from int64) (<-chan store.Batch, error) {
	ch, err := c.store.Watch(ctx, []store.Keys{store.Below(modelsPrefix)}, from)
	return ch, errors.Trace(err)
}

// Info reads the model's document; errors.NotFound once it is gone.
func (m *Model) Info(ctx context.Context) (ModelInfo, error) {
	var info ModelInfo
	_, err := m.store.View(ctx, func(r store.Reader) (err error) {
		info, err = readInfo(r, m.info)
		return errors.Trace(err)
	})
	return info, errors.Trace(err)
}

// readInfo reads the document of the model that was opened as of. A newer
// model of the same name isn't it.
func readInfo(r store.Reader, of ModelInfo) (ModelInfo, error) {
	var info ModelInfo
	kv, err := r.Get(modelsPrefix + of.Name)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return info, errors.Trace(err)
	}
	if err == nil {
		if err := json.Unmarshal(kv.Value, &info); err != nil {
			return info, errors.Annotatef(err, "document %s", kv.Key)
		}
	}
	if info.UUID != of.UUID {
		return info, errors.NewNotFound(nil, fmt.Sprintf("model %s:admin/%s not found", of.controller, of.Name))
	}
	return info, nil
}

// goneKey says of a model that it was removed from this store: of one that isn't
// there nobody else could tell.
func goneKey(uuid string) string { return "gone/" + uuid }

// Gone says whether the model was here and has been removed.
func (c *Controller) Gone(ctx context.Context, uuid string) (bool, error) {
	gone := false
	_, err := c.store.View(ctx, func(r store.Reader) error {
		_, err := r.Get(goneKey(uuid))
		gone = err == nil
		return err
	})
	if errors.Is(err, errors.NotFound) {
		err = nil
	}
	return gone, errors.Trace(err)
}

// RemoveIfEmpty takes a Dying model away once nothing is in it, and says
// whether it has. Its remaining documents go in pages.
func (m *Model) RemoveIfEmpty(ctx context.Context) (bool, error) {
	info, err := m.Info(ctx)
	if errors.Is(err, errors.NotFound) {
		return true, nil
	}
	if err != nil || info.Life == model.Alive {
		return false, errors.Trace(err)
	}
	empty := true
	_, err = m.view(ctx, func(r docs) error {
		for _, kind := range []string{"app/", "unit/", "storage/", externalPrefix} {
			kvs, err := r.Page(m.prefix()+kind, "", 1)
			if err != nil {
				return errors.Trace(err)
			}
			empty = empty && len(kvs) == 0
		}
		return nil
	})
	if err != nil || !empty {
		return false, errors.Trace(err)
	}
	if err := m.forgetReadings(ctx); err != nil {
		return false, errors.Trace(err)
	}
	if err := m.deleteBelow(ctx, m.prefix(), "", 0); err != nil {
		return false, errors.Trace(err)
	}
	// Before the model's own document goes: who is cut off here comes again.
	if err := m.sweepBlobs(ctx); err != nil {
		return false, errors.Trace(err)
	}
	_, err = m.store.Update(ctx, func(tx store.Tx) error {
		// Somebody else may have been faster, and the name be another model's.
		if _, err := readInfo(tx, m.info); err != nil {
			return errors.Trace(err)
		}
		if err := tx.Put(goneKey(m.info.UUID), []byte("{}")); err != nil {
			return errors.Trace(err)
		}
		return tx.Delete(modelsPrefix + m.info.Name)
	})
	if errors.Is(err, errors.NotFound) {
		return true, nil
	}
	return err == nil, errors.Trace(err)
}
