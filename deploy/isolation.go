package deploy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// isolateVariable says how applications are isolated for which nothing else is
// said; it is there for CI, and for the worlds of scripts, which always have it.
const isolateVariable = "UNITD_ISOLATE"

// Isolate are the flags of commands that deploy.
type Isolate struct {
	Mode, Root, OS string

	ofModel bool // Mode is the model's
}

// OfModel are the flags, with the model's default-isolation where neither they nor the
// environment say how to isolate.
func (d *Deployer) OfModel(m *state.Model, f Isolate) (Isolate, error) {
	if f.Told() {
		return f, nil
	}
	all, _, err := m.ModelConfig(d.Context())
	if err != nil {
		return f, errors.Trace(err)
	}
	f.Mode = all[state.DefaultIsolation]
	f.ofModel = f.Mode != ""
	away, err := d.Away(f)
	if err == nil && away && f.Mode == model.IsolateMachine && f.Root == "" {
		err = errors.Errorf("%s of the model is %q, for which each host takes one of its own bases: say how to isolate, with --isolate", state.DefaultIsolation, f.Mode)
	}
	return f, errors.Trace(err)
}

// Away says whether how to isolate is the model's word in a store for many hosts, or in one
// that another user's agent serves. What this host and this user allow says nothing then: who
// deploys may be on none of the hosts that run the units, and a host that can't isolate a
// unit says so in the unit's status.
func (d *Deployer) Away(f Isolate) (bool, error) {
	if !f.ofModel {
		return false, nil
	}
	name, err := d.StoreName()
	return err == nil && !agent.OfHost(name), errors.Trace(err)
}

// Told says whether anybody has said how to isolate.
func (f Isolate) Told() bool { return cmp.Or(f.Mode, os.Getenv(isolateVariable)) != "" }

// Check says what is wrong with the flags, as far as they tell. Only the model may say how
// to isolate, see OfModel.
func (f Isolate) Check() error {
	if !f.Told() {
		return nil
	}
	_, err := f.Isolation()
	return errors.Trace(err)
}

// Isolation is what the flags ask for, with what isn't said as it is mostly.
func (f Isolate) Isolation() (model.Isolation, error) {
	i := model.Isolation{Mode: cmp.Or(f.Mode, os.Getenv(isolateVariable)), Root: f.Root, OS: f.OS}
	if err := named(&i); err != nil {
		return i, err
	}
	asked := i
	if asked.Mode == model.IsolateMachine && asked.Root == "" {
		asked.Root = "/" // see Roots.Settle
	}
	if err := asked.Validate(); err != nil {
		return i, agent.Wrongf("%v", err)
	}
	if i.Mode == model.IsolateOff {
		i.Mode = ""
	}
	if !i.On() {
		return i, nil
	}
	if i.OS == "" {
		return i, nil // see OnBase
	}
	var err error
	if i.OS, err = isolate.ParseOS(i.OS); err != nil {
		return i, agent.Wrongf("--isolate-os: %v", err)
	}
	return i, nil
}

// named has the root be a directory, which may have been named as a base of this host.
func named(i *model.Isolation) (err error) {
	if i.Root == "" {
		return nil
	}
	if _, err := model.ParseBase(i.Root); err != nil {
		i.Root, err = filepath.Abs(i.Root)
		return errors.Trace(err)
	}
	dir, err := agent.DataDirPath()
	if err != nil {
		return errors.Trace(err)
	}
	b, err := bases.Here(dir).Find(i.Root)
	if errors.Is(err, errors.NotFound) {
		return agent.Wrongf("%v", err)
	}
	i.Root = b.Root
	return errors.Trace(err)
}

// ForContainers is how units of a charm are isolated: as i says, but where that is not
// at all, nobody has said so, and the charm has containers, which run beside isolated
// units alone. Then it is as well as this user can.
func (f Isolate) ForContainers(i model.Isolation, charm model.Charm) model.Isolation {
	if len(charm.Containers) == 0 || i.On() || f.Told() {
		return i
	}
	i.Mode = model.IsolateFiles
	if os.Geteuid() == 0 {
		i.Mode = model.IsolateOn
	}
	return i
}

// OnBase is how units of a charm are isolated, and the base that they are on and are
// told: the one that deploy was given, or else the model's where the charm doesn't name
// others, or else the charm's. Those that are isolated are told what a cell can say it
// is: of the charm's bases the first of those, or what --isolate-os says.
// Source: docs/spec/juju-clients.md §10.2.
func OnBase(i model.Isolation, charm model.Charm, given, ofModel model.Base) (model.Isolation, string) {
	base := charm.ChooseBase(given, ofModel)
	if i.Mode == model.IsolateMachine && i.OS == "" {
		i.OS = isolate.HostOS // its root is that system
	}
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

// BaseOf is the base that a model's configuration names; zero: none.
func (d *Deployer) BaseOf(m *state.Model) (model.Base, error) {
	all, _, err := m.ModelConfig(d.Context())
	if err != nil || all["default-base"] == "" {
		return model.Base{}, errors.Trace(err)
	}
	base, err := model.ParseBase(all["default-base"])
	return base, errors.Annotate(err, "default-base of the model")
}

// CheckIsolation says whether units, of a charm with containers or not, can be isolated as
// the flags ask for, and tells what they will lack. What the world of a script is told
// was tried before the first script.
func (d *Deployer) CheckIsolation(f Isolate, i model.Isolation, containers bool) error {
	if _, inLab, err := agent.LabTime(); err != nil || inLab && f.Mode == "" {
		return err
	}
	if away, err := d.Away(f); err != nil || away {
		return err
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	return d.CheckIsolationIn(dir, dir, i, Without(containers))
}

// OneUser says in a line why there is one user alone in the units of an agent of this
// user; nil: there are others. Where nothing is isolated at all nobody gets to ask.
func (d *Deployer) OneUser() error {
	if os.Geteuid() == 0 || runtime.GOOS != "linux" {
		return nil
	}
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	self, err := agent.StableSelf(dir)
	if err != nil {
		return err
	}
	cells := machine.NewCells(dir, self)
	defer cells.Close()
	_, why := cells.IDs()
	return why
}

// CheckUsers says whether a charm whose units are isolated so can have the users that
// it wants; single is what OneUser says, asked where that matters.
func CheckUsers(single func() error, i model.Isolation, charm model.Charm) error {
	wants := machine.OtherUsers(charm)
	if wants == "" || !i.On() {
		return nil
	}
	if why := single(); why != nil {
		return errors.NewNotSupported(nil, fmt.Sprintf("charm %q needs unitd to run as root, or as a user with subordinate ids: its %s, and there is only one user in its containers, as %v", charm.Name, wants, why))
	}
	return nil
}

// Without says for people what units, of a charm with containers or not, are like if they aren't
// isolated.
func Without(containers bool) string {
	if containers {
		return "with --isolate=off they share the host, and their containers don't run"
	}
	return "without --isolate they share the host, its files, processes and ports"
}

// CheckIsolationIn is CheckIsolation for units whose changes are in dir. without is for people who
// can't have it: what there is in its place.
func (d *Deployer) CheckIsolationIn(dataDir, dir string, i model.Isolation, without string) error {
	if !i.On() || i.Mode == model.IsolateMachine && i.Root == "" {
		return nil // of a base that isn't chosen yet, see Roots.Settle
	}
	lost, err := d.tryIsolation(dataDir, dir, i)
	switch {
	case errors.Is(err, isolate.ErrNoRights):
		return errors.WithType(fmt.Errorf("units can't be isolated here: %s; %s", err, without), isolate.ErrNoRights)
	case err != nil:
		return err
	case lost != "":
		d.Note("isolated in part: %s", lost)
	}
	return nil
}

// tryIsolation says what units would lack whose changes are in dir.
func (d *Deployer) tryIsolation(dataDir, dir string, i model.Isolation) (lost string, err error) {
	self, err := agent.StableSelf(dataDir)
	if err != nil {
		return "", err
	}
	return machine.NewCells(dir, self).Try(d.Context(), isolate.Spec{Name: "units", Hostname: "try", ID: "try", Mode: i.Mode, Root: i.Root, OS: i.OS})
}

// WhereAllowed is how units are isolated, whose changes are in dir, for which
// nothing is said: wholly where that can be had, else not at all; then why says
// in a line what they lack.
func (d *Deployer) WhereAllowed(dataDir, dir string) (i model.Isolation, why string) {
	i = model.Isolation{Mode: model.IsolateOn}
	lost, err := d.tryIsolation(dataDir, dir, i)
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

// MostAllowed is WhereAllowed for who isn't root: all but a network is had then, if
// it can be. note says in a line what units lack.
func (d *Deployer) MostAllowed(dataDir, dir string) (i model.Isolation, note string) {
	i, note = d.WhereAllowed(dataDir, dir)
	if note == "" || os.Geteuid() == 0 {
		return i, note
	}
	files := model.Isolation{Mode: model.IsolateFiles}
	lost, err := d.tryIsolation(dataDir, dir, files)
	if err != nil {
		return i, note
	}
	lacks := []string{"units share the host's network and its ports"}
	if lost != "" {
		lacks = append(lacks, lost)
	}
	return files, "isolated in part: " + strings.Join(lacks, "; ")
}
