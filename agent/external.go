package agent

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// experimentalVariable names, with commas between them, the experiments that this host takes part in.
const experimentalVariable = "UNITD_EXPERIMENTAL"

// ManyStores is the experiment of relations between models of several stores: docs/scale.md, "Models
// in two stores".
const ManyStores = "stores"

// Experimental says whether this host takes part in an experiment.
func Experimental(what string) bool {
	return slices.Contains(strings.Split(os.Getenv(experimentalVariable), ","), what)
}

// ExternalStore is how another controller of this host has its models, as StoreName says it; the error is
// NotFound where there is no such controller.
func ExternalStore(controller string) (string, error) {
	r, err := FindController(controller)
	if err != nil {
		return "", errors.Trace(err)
	}
	b, err := os.ReadFile(filepath.Join(r.Dir, agentStoreFile))
	if err != nil && !os.IsNotExist(err) {
		return "", errors.Annotatef(err, "cannot tell which store controller %s has", controller)
	}
	if name := strings.TrimSpace(string(b)); name != "" && name != LocalStore {
		return name, nil
	}
	return filepath.Join(r.Dir, StoreFile), nil
}

// NamedStore is a store's name as it is everywhere on this host, for one that a person gives.
func NamedStore(name string) (string, error) {
	name, err := storeName(name)
	if err == nil && name == LocalStore {
		err = Wrongf("%q is each host's own store: name the file of the other store", LocalStore)
	}
	return name, err
}

// OpenExternal opens the store of a model that is in another one than the models of this command or
// agent; end closes it.
func (h *Host) OpenExternal(ctx context.Context, there state.ExternalDoc) (c *state.Controller, end func() error, err error) {
	if !Experimental(ManyStores) {
		return nil, nil, errors.NewNotSupported(nil, fmt.Sprintf(
			"relations between controllers are experimental: set %s=%s for the agents of this host and for its commands", experimentalVariable, ManyStores))
	}
	s, err := h.openExternal(ctx, there.Store)
	if err != nil {
		return nil, nil, errors.Annotatef(err, "cannot open the store of controller %s", there.Controller)
	}
	return state.NewController(s, clock.WallClock).WithName(there.Controller), s.Close, nil
}

func (h *Host) openExternal(ctx context.Context, name string) (store.Store, error) {
	name, err := NamedStore(name)
	if err == nil && OfHost(name) {
		err = CheckPrivate(filepath.Dir(name))
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	return h.openNamed(ctx, name, clock.WallClock, func(err error) error { return err })
}
