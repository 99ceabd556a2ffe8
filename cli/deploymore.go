package cli

import (
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// forBundle is the error of flags that bundles don't take; path is that of the bundle,
// and empty for one of a hub, which has channels and revisions.
// Source: docs/spec/juju-clients.md §10.1.
func (f deployFlags) forBundle(path string) error {
	var given []string
	for _, flag := range []struct {
		name string
		is   bool
	}{
		{"attach-storage", len(f.attach) > 0},
		{"base", f.base != ""},
		{"bind", f.bind != ""},
		{"channel", f.hub.channel != "" && path != ""},
		{"config", len(f.config) > 0},
		{"constraints", len(f.constraints) > 0},
		{"device", len(f.device) > 0},
		{"hook-timeout", f.hookTimeout != ""},
		{"lock-group", f.lockGroup != ""},
		{"num-units", f.units != -1},
		{"resource", len(f.resources) > 0},
		{"revision", f.hub.revision != latest && path != ""},
		{"series", f.series != ""},
		{"storage", len(f.storage) > 0},
		{"to", f.to != ""},
	} {
		if flag.is {
			given = append(given, flag.name)
		}
	}
	if len(given) > 0 {
		return errors.New(bundle.As(path, ": ") + "options provided but not supported when deploying a bundle: " + strings.Join(given, ", "))
	}
	return nil
}

// more adds what the flags say of spaces, of storage that is there, and of places.
func (f deployFlags) more(todo state.DeployArgs) (state.DeployArgs, error) {
	var err error
	if len(f.attach) > 0 && todo.Units != 1 {
		return todo, Usagef("--attach-storage cannot be used with -n")
	}
	if todo.Attach, err = storageIDs(f.attach); err != nil {
		return todo, err
	}
	if todo.Bindings, err = model.ParseBindings(f.bind); err != nil {
		return todo, Usagef("%v", err)
	}
	p, err := parsePlacements(f.to, todo.Units)
	todo.To = p.to
	return todo, err
}

// noteDeployed says which of the flags nothing comes of.
func (a charmVerbs) noteDeployed(todo state.DeployArgs, f deployFlags) {
	p, _ := parsePlacements(f.to, todo.Units)
	a.notePlacements(p)
	a.recordsBindings(todo.Bindings)
	if len(f.device) > 0 {
		a.ignores("--device")
	}
}
