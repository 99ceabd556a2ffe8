package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

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
		Streams: Streams{In: a.In, Out: a.Out, Err: a.Err}, DropIn: a.Command() == jujuName, Unit: a.inside, Remote: a.remote,
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
	name, bare, err := a.targeted(m, target)
	if err != nil {
		return Unit{}, a.notFound(err)
	}
	if bare != nil {
		return a.bareMachine(m, *bare)
	}
	doc, err := m.Unit(a.Context(), name)
	if err != nil {
		return Unit{}, a.notFound(err)
	}
	if err := a.Here(m, name); err != nil {
		return a.elsewhere(m, doc, err)
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
	u.Shell = func(user string, arguments ...string) (*exec.Cmd, error) {
		return a.shellIn(cell, "JUJU_UNIT_NAME="+string(doc.Name), filepath.Join(dir, "charm"), user, arguments)
	}
	u.Journal = func(arguments ...string) (*exec.Cmd, error) { return journalIn(cell, name, arguments) }
	u.Files = func() (Place, error) { return a.filesIn(cell, filepath.Join(dir, "charm")) }
	u.Workload = func(container string) (Place, error) { return a.workload(m, name, container) }
	return u, nil
}

// notFound is an error with the words that scripts for Juju look for.
func (a insideVerbs) notFound(err error) error {
	if a.Command() != jujuName || !errors.Is(err, errors.NotFound) || strings.HasPrefix(err.Error(), "leader ") {
		return err
	}
	return errors.NewNotFound(nil, err.Error()+" (not found)")
}

// notDeployed is the error of a unit that no agent has taken on. Source:
// docs/spec/containers.md §7.4.
func notDeployed(doc state.UnitDoc) error {
	if doc.Pod {
		return errors.NewNotFound(nil, fmt.Sprintf("container for unit %q is not ready yet: \"unitd why %s\" says what it waits for", doc.Name, doc.Name))
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%s is not deployed yet: \"unitd why %s\" says what it waits for", doc.Name, doc.Name))
}

// bareMachine is the door to a machine without units: this host, if it is that.
func (a insideVerbs) bareMachine(m *state.Model, doc state.MachineDoc) (Unit, error) {
	if err := a.MachineHere(doc); err != nil {
		if address := reachable(doc); address != "" && a.Command() == jujuName {
			return Unit{Address: address}, nil
		}
		return Unit{}, errors.NewNotFound(nil, fmt.Sprintf("machine %s has no units: run the command on its host", doc.ID))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return Unit{}, errors.Annotate(err, "cannot tell where this user is at home")
	}
	shared := func() (*isolate.Cell, error) { return nil, nil }
	return Unit{
		Name: model.UnitName("machine " + doc.ID),
		Shell: func(user string, arguments ...string) (*exec.Cmd, error) {
			return a.shellIn(shared, "", home, user, arguments)
		},
		Files: func() (Place, error) { return a.filesIn(shared, home) },
	}, nil
}

// elsewhere is the door to a unit of another host, by OpenSSH, for clients of Juju; here
// says that it isn't on this one. What is isolated there is out of OpenSSH's reach.
func (a insideVerbs) elsewhere(m *state.Model, unit state.UnitDoc, here error) (Unit, error) {
	if a.Command() != jujuName || unit.Pod {
		return Unit{}, here
	}
	app, err := m.Application(a.Context(), cmp.Or(unit.Principal, unit.Name).Application())
	if err != nil || app.Isolation.On() {
		return Unit{}, here
	}
	doc, err := m.Machine(a.Context(), unit.Machine)
	if err != nil || reachable(doc) == "" {
		return Unit{}, here
	}
	return Unit{Name: unit.Name, Address: reachable(doc)}, nil
}

// reachable is the address of a host that has joined; empty: there is none.
func reachable(doc state.MachineDoc) string {
	if doc.Provider != state.ManualProvider || len(doc.Addresses) == 0 {
		return ""
	}
	return doc.Addresses[0]
}

// targeted is the unit that is meant by its name, as an application's leader, or by
// its machine; or the machine, if it has none.
func (a insideVerbs) targeted(m *state.Model, target string) (unit model.UnitName, bare *state.MachineDoc, err error) {
	if app, ok := strings.CutSuffix(target, "/leader"); ok {
		leader, _, err := m.Leadership(a.Context(), app)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return "", nil, err
		}
		if leader == "" {
			return "", nil, errors.NewNotFound(nil, fmt.Sprintf("leader for application-%s not found", app))
		}
		return leader, nil, nil
	}
	if !unitOrLeader.MatchString(target) && target != "" && target[0] >= '0' && target[0] <= '9' {
		doc, err := m.Machine(a.Context(), target)
		switch {
		case errors.Is(err, errors.NotFound) && a.Command() == jujuName:
			return "", nil, errors.NewNotFound(nil, fmt.Sprintf("machine %s not found", target))
		case err != nil:
			return "", nil, err
		case len(doc.Units) == 0:
			return "", &doc, nil
		}
		return doc.Units[0], nil, nil
	}
	names, err := unitNames([]string{target})
	if err != nil {
		return "", nil, err
	}
	return names[0], nil, nil
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

// shellIn is a shell with those arguments where a unit is, or a machine without any, as
// a user of that place, if it has that one; dir is where the shell of one that shares
// this host begins. A user of this host is taken from clients of Juju alone.
func (a insideVerbs) shellIn(in func() (*isolate.Cell, error), unit, dir, user string, arguments []string) (*exec.Cmd, error) {
	cell, err := in()
	if err != nil {
		return nil, err
	}
	place, err := a.filesIn(in, dir)
	if err != nil {
		return nil, err
	}
	who, known := place.person(user)
	env := []string{"HOME=" + os.Getenv("HOME"), "TERM=" + os.Getenv("TERM"), "LANG=C.UTF-8"}
	if unit != "" {
		env = append(env, unit)
	}
	if known {
		env = append(env, "USER="+user, "LOGNAME="+user)
		env[0], dir = "HOME="+who.Home, who.Home
	}
	if cell == nil {
		cmd := exec.Command("/bin/bash", arguments...)
		cmd.Dir, cmd.Env = dir, append(env, "PATH="+os.Getenv("PATH"))
		if known && who.UID != os.Geteuid() {
			become(cmd, who)
		}
		return cmd, nil
	}
	program, args := cell.Command(cell.Home(), "/bin/bash", arguments...)
	if known {
		program, args = cell.CommandAs(who, who.Home, "/bin/bash", arguments...)
	} else {
		env[0] = "HOME=" + cell.Home()
	}
	cmd := exec.Command(program, args...)
	cmd.Env = append(env, "PATH="+isolate.Path)
	return cmd, nil
}

// become has a program run as another user of this host.
func become(cmd *exec.Cmd, who isolate.Person) {
	as := &syscall.Credential{Uid: uint32(who.UID), Gid: uint32(who.GID)}
	for _, g := range who.Groups {
		as.Groups = append(as.Groups, uint32(g))
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: as}
}

// filesIn are the files where a unit is: paths begin where its shell does, which is in
// dir on this host.
func (a insideVerbs) filesIn(in func() (*isolate.Cell, error), dir string) (Place, error) {
	cell, err := in()
	if err != nil || cell == nil {
		shared := Place{Files: Host{}, Dir: dir, UID: -1, GID: -1}
		if a.Command() == jujuName {
			shared.UID, shared.GID = os.Geteuid(), os.Getegid()
		}
		return shared, err
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
	if cell.IDs().Many() || os.Geteuid() == 0 {
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
