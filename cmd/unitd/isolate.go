package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd"
)

// isolateVariable says how applications are isolated for which nothing else is
// said; it is there for CI, and for the worlds of scripts, which always have it.
const isolateVariable = "UNITD_ISOLATE"

// isolateFlags are the flags of commands that deploy.
type isolateFlags struct{ mode, root, os string }

func (f *isolateFlags) declare(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.mode, "isolate", "", "give each unit a machine of its own on this host: "+strings.Join(model.IsolationModes(), ", "))
	fs.Lookup("isolate").NoOptDefVal = model.IsolateOn
	fs.StringVar(&f.root, "isolate-root", "", "the directory that isolated units have as their root (the host's root)")
	fs.StringVar(&f.os, "isolate-os", "", "the system that isolated units are told they are on: "+strings.Join(isolate.Systems(), ", "))
}

// told says whether anybody has said how to isolate.
func (f isolateFlags) told() bool { return cmp.Or(f.mode, os.Getenv(isolateVariable)) != "" }

// isolation is what the flags ask for, with what isn't said as it is mostly.
func (f isolateFlags) isolation() (model.Isolation, error) {
	i := model.Isolation{Mode: cmp.Or(f.mode, os.Getenv(isolateVariable)), Root: f.root, OS: f.os}
	if i.Root != "" {
		abs, err := filepath.Abs(i.Root)
		if err != nil {
			return i, errors.Trace(err)
		}
		i.Root = abs
	}
	if err := i.Validate(); err != nil {
		return i, usagef("%v", err)
	}
	if i.Mode == model.IsolateOff {
		i.Mode = ""
	}
	if !i.On() {
		return i, nil
	}
	if i.OS == "" {
		return i, nil // see onBase
	}
	var err error
	if i.OS, err = isolate.ParseOS(i.OS); err != nil {
		return i, usagef("--isolate-os: %v", err)
	}
	return i, nil
}

// forContainers is how units of a charm are isolated: as i says, but where that is not
// at all, nobody has said so, and the charm has containers, which run beside isolated
// units alone. Then it is as well as this user can.
func (f isolateFlags) forContainers(i model.Isolation, charm model.Charm) model.Isolation {
	if len(charm.Containers) == 0 || i.On() || f.told() {
		return i
	}
	i.Mode = model.IsolateFiles
	if os.Geteuid() == 0 {
		i.Mode = model.IsolateOn
	}
	return i
}

// onBase is how units of a charm are isolated, and the base that they are on and are
// told: the one that deploy was given, or else the model's where the charm doesn't name
// others, or else the charm's. Those that are isolated are told what a cell can say it
// is: of the charm's bases the first of those, or what --isolate-os says.
// Source: docs/spec/juju-clients.md §10.2.
func onBase(i model.Isolation, charm model.Charm, given, ofModel model.Base) (model.Isolation, string) {
	base := charm.ChooseBase(given, ofModel)
	if !i.On() || i.OS == isolate.HostOS {
		return i, base.String()
	}
	if i.OS == "" {
		bases := []string{base.String()}
		for _, b := range charm.Bases {
			bases = append(bases, b.String())
		}
		i.OS = isolate.SystemFor(bases...)
	}
	return i, i.OS
}

// baseOf is the base that a model's configuration names; zero: none.
func (a *app) baseOf(m *state.Model) (model.Base, error) {
	all, _, err := m.ModelConfig(a.ctx)
	if err != nil || all["default-base"] == "" {
		return model.Base{}, errors.Trace(err)
	}
	base, err := model.ParseBase(all["default-base"])
	return base, errors.Annotate(err, "default-base of the model")
}

// checkIsolation says whether units, of a charm with containers or not, can be isolated as
// the flags ask for, and tells what they will lack. What the world of a script is told
// was tried before the first script.
func (a *app) checkIsolation(f isolateFlags, i model.Isolation, containers bool) error {
	if _, inLab, err := labTime(); err != nil || inLab && f.mode == "" {
		return err
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	return a.checkIsolationIn(dir, dir, i, containers)
}

// oneUser says in a line why there is one user alone in the units of an agent of this
// user; nil: there are others. Where nothing is isolated at all nobody gets to ask.
func (a *app) oneUser() error {
	if os.Geteuid() == 0 || runtime.GOOS != "linux" {
		return nil
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	self, err := stableSelf(dir)
	if err != nil {
		return err
	}
	cells := machine.NewCells(dir, self)
	defer cells.Close()
	_, why := cells.IDs()
	return why
}

// checkUsers says whether a charm whose units are isolated so can have the users that
// it wants; single is what oneUser says, asked where that matters.
func checkUsers(single func() error, i model.Isolation, charm model.Charm) error {
	wants := machine.OtherUsers(charm)
	if wants == "" || !i.On() {
		return nil
	}
	if why := single(); why != nil {
		return errors.NewNotSupported(nil, fmt.Sprintf("charm %q needs unitd to run as root, or as a user with subordinate ids: its %s, and there is only one user in its containers, as %v", charm.Name, wants, why))
	}
	return nil
}

// checkIsolationIn is checkIsolation for units whose changes are in dir.
func (a *app) checkIsolationIn(dataDir, dir string, i model.Isolation, containers bool) error {
	if !i.On() {
		return nil
	}
	lost, err := a.tryIsolation(dataDir, dir, i)
	switch {
	case errors.Is(err, isolate.ErrNoRights):
		without := "without --isolate they share the host, its files, processes and ports"
		if containers {
			without = "with --isolate=off they share the host, and their containers don't run"
		}
		return errors.WithType(fmt.Errorf("units can't be isolated here: %s; %s", err, without), isolate.ErrNoRights)
	case err != nil:
		return err
	case lost != "":
		a.note("isolated in part: %s", lost)
	}
	return nil
}

// tryIsolation says what units would lack whose changes are in dir.
func (a *app) tryIsolation(dataDir, dir string, i model.Isolation) (lost string, err error) {
	self, err := stableSelf(dataDir)
	if err != nil {
		return "", err
	}
	return machine.NewCells(dir, self).Try(a.ctx, isolate.Spec{Name: "units", Hostname: "try", ID: "try", Mode: i.Mode, Root: i.Root, OS: i.OS})
}

// whereAllowed is how units are isolated, whose changes are in dir, for which
// nothing is said: wholly where that can be had, else not at all; then why says
// in a line what they lack.
func (a *app) whereAllowed(dataDir, dir string) (i model.Isolation, why string) {
	i = model.Isolation{Mode: model.IsolateOn}
	lost, err := a.tryIsolation(dataDir, dir, i)
	switch {
	case err != nil:
		why = fmt.Sprintf("%v; they share this host, its files, processes and ports", err)
	case lost != "":
		why = fmt.Sprintf("cannot isolate units in all respects: %s; they share this host, its files, processes and ports", lost)
	default:
		return i, ""
	}
	return model.Isolation{}, why
}

// mostAllowed is whereAllowed for who isn't root: all but a network is had then, if
// it can be. note says in a line what units lack.
func (a *app) mostAllowed(dataDir, dir string) (i model.Isolation, note string) {
	i, note = a.whereAllowed(dataDir, dir)
	if note == "" || os.Geteuid() == 0 {
		return i, note
	}
	files := model.Isolation{Mode: model.IsolateFiles}
	lost, err := a.tryIsolation(dataDir, dir, files)
	if err != nil {
		return i, note
	}
	lacks := []string{"units share the host's network and its ports"}
	if lost != "" {
		lacks = append(lacks, lost)
	}
	return files, "isolated in part: " + strings.Join(lacks, "; ")
}

// isolateNew has a plan's applications isolated where that is allowed, if some
// of them are to be added. In a store for many hosts they are not: other hosts may
// allow something else, and don't reach the units' network.
func (a *app) isolateNew(m *state.Model, p *plan) error {
	name, err := a.storeName()
	if err != nil || strings.HasPrefix(name, etcd.Scheme) {
		return err
	}
	adds := false
	for _, app := range p.apps {
		_, err := m.Application(a.ctx, app.Application.Name)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return err
		}
		adds = adds || err != nil
	}
	dir, err := dataDir()
	if err != nil || !adds {
		return err
	}
	return a.isolatePlan(p, dir)
}

// isolatePlan has a plan's applications isolated, as far as that is allowed, with
// what they change in a directory.
func (a *app) isolatePlan(p *plan, dir string) error {
	var note string
	if p.isolation, note = a.mostAllowed(dir, dir); note != "" && a.ctx.Err() == nil {
		a.note("%s", note)
	}
	return errors.Trace(a.ctx.Err())
}

// isolationOf is how the units of an application that is added are isolated: as the
// others, but where these aren't and the charm has containers.
func (p *plan) isolationOf(app plannedApp) model.Isolation {
	i, _ := p.onBase(app)
	return i
}

// onBase is isolationOf with the base of the units.
func (p *plan) onBase(app plannedApp) (model.Isolation, string) {
	charm := app.packed.Charm.Charm
	return onBase(p.asked.forContainers(p.isolation, charm), charm, model.Base{}, p.base)
}

// checkIsolationFor says whether those applications that are added can be isolated that
// are so for their containers' sake. One trial is for all.
func (a *app) checkIsolationFor(p *plan, there map[string]state.ApplicationDoc) error {
	if p.isolation.On() {
		return nil // that was tried
	}
	for _, app := range p.apps {
		i := p.isolationOf(app)
		if _, ok := there[app.Application.Name]; ok || !i.On() {
			continue
		}
		dir, err := dataDir()
		if err != nil {
			return err
		}
		err = a.checkIsolationIn(cmp.Or(p.dir, dir), cmp.Or(p.dir, dir), i, true)
		return errors.Annotatef(err, "cannot deploy application %q", app.Application.Name)
	}
	return nil
}
