package cli

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/workload"
)

// insideVerbs lead inside of units.
type insideVerbs struct{ base }

// insideDoors are those of the verbs that lead inside of units.
func (a insideVerbs) insideDoors() Inside {
	return Inside{
		Streams: Streams{In: a.In, Out: a.Out, Err: a.Err}, Unit: a.inside,
		Names:      func() []string { return unitNamesOf(a.completing()) },
		Containers: func(unit string) []string { return containersIn(a.completing(), unit) },
	}
}

// containersIn are the names of a unit's workload containers.
func containersIn(s *state.FullStatus, unit string) []string {
	name, _, _ := strings.Cut(unit, "/")
	for _, app := range s.Applications {
		if app.Name == name {
			return app.CharmDoc.Charm.ContainerNames()
		}
	}
	return nil
}

// inside is the door to a unit. Source: docs/spec/juju-clients.md §5.2.
func (a insideVerbs) inside(_ context.Context, target string) (Unit, error) {
	m, err := a.model()
	if err != nil {
		return Unit{}, err
	}
	name, err := a.targeted(m, target)
	if err != nil {
		return Unit{}, err
	}
	doc, err := m.Unit(a.Context(), name)
	if err != nil {
		return Unit{}, err
	}
	if err := a.Here(m, name); err != nil {
		return Unit{}, err
	}
	dir, err := unitDir(m, name)
	if err != nil {
		return Unit{}, err
	}
	u := Unit{Name: name, Pebble: func(container string) *pebble.Client { return pebble.New(machine.PebbleSocket(dir, container)) }}
	u.Printed = func(container string, lines int) (string, error) {
		return workload.Printed(machine.ContainerLog(dir, container), lines)
	}
	if u.Containers, err = a.containersOf(m, doc); err != nil {
		return Unit{}, err
	}
	if _, err := os.Stat(dir); err != nil {
		return Unit{}, notDeployed(doc)
	}
	cell := func() (*isolate.Cell, error) { return a.cellOf(m, doc) }
	u.Shell = func(arguments ...string) (*exec.Cmd, error) {
		return shellIn(cell, doc, filepath.Join(dir, "charm"), arguments)
	}
	u.Files = func() (Place, error) { return filesIn(cell, filepath.Join(dir, "charm")) }
	u.Workload = func(container string) (Place, error) { return a.workload(m, name, container) }
	return u, nil
}

// notDeployed is the error of a unit that no agent has taken on. Source:
// docs/spec/containers.md §7.4.
func notDeployed(doc state.UnitDoc) error {
	if doc.Pod {
		return errors.NewNotFound(nil, fmt.Sprintf("container for unit %q is not ready yet: \"unitd why %s\" says what it waits for", doc.Name, doc.Name))
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%s is not deployed yet: \"unitd why %s\" says what it waits for", doc.Name, doc.Name))
}

// targeted is the unit that is meant by its name, as an application's leader, or by
// its machine.
func (a insideVerbs) targeted(m *state.Model, target string) (model.UnitName, error) {
	if app, ok := strings.CutSuffix(target, "/leader"); ok {
		leader, _, err := m.Leadership(a.Context(), app)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return "", err
		}
		if leader == "" {
			return "", errors.NewNotFound(nil, fmt.Sprintf("leader for application-%s not found", app))
		}
		return leader, nil
	}
	if !unitOrLeader.MatchString(target) && target != "" && target[0] >= '0' && target[0] <= '9' {
		doc, err := m.Machine(a.Context(), target)
		if err != nil {
			return "", err
		}
		if len(doc.Units) == 0 {
			return "", errors.NewNotFound(nil, fmt.Sprintf("machine %s has no units: run the command on its host", target))
		}
		return doc.Units[0], nil
	}
	names, err := unitNames([]string{target})
	if err != nil {
		return "", err
	}
	return names[0], nil
}

// containersOf are the names of the workload containers that a unit has.
func (a insideVerbs) containersOf(m *state.Model, doc state.UnitDoc) ([]string, error) {
	if !doc.Pod {
		return nil, nil
	}
	url := doc.Charm
	if url == "" {
		app, err := m.Application(a.Context(), doc.Name.Application())
		if err != nil {
			return nil, err
		}
		url = app.Charm
	}
	charm, err := m.Charm(a.Context(), url)
	if err != nil {
		return nil, err
	}
	return charm.Charm.ContainerNames(), nil
}

// shellIn is a shell with those arguments where a unit is; charm is the charm's
// directory on this host.
func shellIn(in func() (*isolate.Cell, error), doc state.UnitDoc, charm string, arguments []string) (*exec.Cmd, error) {
	env := []string{"HOME=" + os.Getenv("HOME"), "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8", "JUJU_UNIT_NAME=" + string(doc.Name)}
	cell, err := in()
	if err != nil {
		return nil, err
	}
	if cell == nil {
		cmd := exec.Command("/bin/bash", arguments...)
		cmd.Dir, cmd.Env = charm, append(env, "PATH="+os.Getenv("PATH"))
		return cmd, nil
	}
	env[0] = "HOME=" + cell.Home()
	program, args := cell.Command(cell.Home(), "/bin/bash", arguments...)
	cmd := exec.Command(program, args...)
	cmd.Env = append(env, "PATH="+isolate.Path)
	return cmd, nil
}

// filesIn are the files where a unit is: paths begin where its shell does.
func filesIn(in func() (*isolate.Cell, error), charm string) (Place, error) {
	cell, err := in()
	if err != nil || cell == nil {
		return Place{Files: Host{}, Dir: charm, UID: -1, GID: -1}, err
	}
	return placeIn(cell, cell.Home())
}

// workload are the files of a workload container: paths begin where Pebble does.
func (a insideVerbs) workload(m *state.Model, unit model.UnitName, container string) (Place, error) {
	cell, err := a.cellAt(isolate.ContainerKey(machine.CellKey(m.UUID(), unit), container))
	if err != nil {
		return Place{}, err
	}
	return placeIn(cell, cell.WorkingDir())
}

func placeIn(cell *isolate.Cell, dir string) (Place, error) {
	uid, gid, err := cell.Owner()
	place := Place{Files: cell, Dir: dir, UID: uid, GID: gid}
	if cell.IDs().Many() {
		place.Chown = cell.Chown
	}
	return place, err
}

// cellOf is the cell that a unit is in; nil: it shares the host.
func (a insideVerbs) cellOf(m *state.Model, doc state.UnitDoc) (*isolate.Cell, error) {
	in := doc.Name
	if doc.Principal != "" {
		in = doc.Principal
	}
	app, err := m.Application(a.Context(), in.Application())
	if err != nil || !app.Isolation.On() {
		return nil, err
	}
	return a.cellAt(machine.CellKey(m.UUID(), in))
}

// cellAt is the cell of a key.
func (a insideVerbs) cellAt(key string) (*isolate.Cell, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return nil, err
	}
	self, err := agent.StableSelf(dir)
	if err != nil {
		return nil, err
	}
	return isolate.At(filepath.Join(machine.NewCells(dir, self).Dir, key), self)
}
