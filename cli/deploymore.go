package cli

import (
	"strings"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// onBundle names those flags that were given and that bundles don't take; empty: none.
// Source: docs/spec/juju-clients.md §10.1.
func (f deployFlags) onBundle() string {
	var given []string
	for _, flag := range []struct {
		name string
		is   bool
	}{{"attach-storage", len(f.attach) > 0}, {"bind", f.bind != ""}, {"device", len(f.device) > 0}} {
		if flag.is {
			given = append(given, flag.name)
		}
	}
	return strings.Join(given, ", ")
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
		a.records("--device")
	}
}
