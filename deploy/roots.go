package deploy

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
)

// Roots are the bases of this host, for applications whose units are to have systemd.
type Roots struct {
	store bases.Store
	// try says why a unit can't have a machine on a root; each is tried once.
	try   func(root string) error
	tried map[string]error
	// may: nothing but a base keeps units from having systemd.
	may bool
}

// Roots are they, for units that change what is in dir.
func (d *Deployer) Roots(dir string) (*Roots, error) {
	data, err := agent.DataDirPath()
	if err != nil {
		return nil, errors.Trace(err)
	}
	_, inLab, err := agent.LabTime()
	if err != nil {
		return nil, errors.Trace(err)
	}
	name, err := d.StoreName() // other hosts of a store have other bases
	return &Roots{
		store: bases.Here(data), tried: map[string]error{}, may: os.Geteuid() == 0 && !inLab && agent.OfHost(name),
		try: func(root string) error {
			lost, err := d.tryIsolation(data, dir, model.Isolation{Mode: model.IsolateMachine, Root: root, OS: isolate.HostOS})
			if err == nil && lost != "" {
				err = errors.New(lost)
			}
			return err
		},
	}, errors.Trace(err)
}

// Settled is how the units of an application are isolated, with all that is chosen.
type Settled struct {
	model.Isolation
	// Base is that of the units, as text; empty: nobody says any.
	Base string
	// Lacks says why units don't have the systemd that they would have if they could;
	// Fetch is the base that would give it to them.
	Lacks string
	Fetch string
}

// Settle is how units of a charm are isolated for which i says how, and the base that they
// are on; given and ofModel are those of OnBase. A machine with systemd that no root was
// named for is on the one of these bases that this host has. With IsolateAuto, and with
// best also with IsolateOn, units have systemd if they can. The error is NotFound where a
// machine is wanted and there is no base for it.
// Source: docs/spec/machine-isolation.md §6.
func (r *Roots) Settle(i model.Isolation, charm model.Charm, given, ofModel model.Base, best bool) (Settled, error) {
	if charm.Subordinate { // which is in its principal's machine
		if i.Mode == model.IsolateMachine && i.Root == "" {
			i = model.Isolation{}
		}
		on, base := OnBase(i, charm, given, ofModel)
		return Settled{Isolation: on, Base: base}, nil
	}
	wants := i.Mode == model.IsolateMachine
	would := r.may && len(charm.Containers) == 0 && (i.OS == "" || i.OS == isolate.HostOS) && (i.Mode == model.IsolateAuto || best && i.Mode == model.IsolateOn)
	var s Settled
	if i.Root == "" && (wants || would) {
		b, err := r.choose(charm, given, ofModel)
		if err == nil && !wants {
			err = r.works(b)
		}
		switch missing := missingBase(""); {
		case err == nil:
			i.Mode, i.Root = model.IsolateMachine, b.Root
			given, _ = model.ParseBase(b.Name)
		case wants:
			return s, err
		case errors.As(err, &missing):
			s.Fetch = string(missing)
			s.Lacks = err.Error()
		default:
			s.Lacks = err.Error()
		}
	}
	s.Isolation, s.Base = OnBase(i, charm, given, ofModel)
	return s, nil
}

// works is whether a unit can have a machine on a base.
func (r *Roots) works(b bases.Base) error {
	err, tried := r.tried[b.Root]
	if !tried {
		err = r.try(b.Root)
		r.tried[b.Root] = err
	}
	return err
}

// missingBase is the error that this base isn't on this host.
type missingBase string

func (m missingBase) Error() string {
	return fmt.Sprintf("there is no base %s on this host: unitd base fetch %s", string(m), string(m))
}

// Is has it be NotFound.
func (missingBase) Is(target error) bool { return target == errors.NotFound }

// usualBase is what is fetched for charms that name no base.
const usualBase = "debian@12"

// choose is the base on which the units of a charm have their machines: of those that they
// can be on, the first that this host has.
func (r *Roots) choose(charm model.Charm, given, ofModel model.Base) (bases.Base, error) {
	all, err := r.store.List()
	if err != nil {
		return bases.Base{}, errors.Trace(err)
	}
	wanted := wantedBases(charm, given, ofModel)
	for _, one := range wanted {
		if i := slices.IndexFunc(all, func(b bases.Base) bool { return b.Name == one.String() }); i >= 0 {
			return all[i], nil
		}
	}
	switch {
	case len(wanted) > 0:
		return bases.Base{}, missingBase(wanted[0].String())
	case len(all) == 0:
		return bases.Base{}, missingBase(usualBase)
	case len(all) > 1:
		names := make([]string, len(all))
		for i, b := range all {
			names[i] = b.Name
		}
		return bases.Base{}, agent.Wrongf("charm %q names no base, and this host has %s: choose one with --isolate-root", charm.Name, strings.Join(names, ", "))
	}
	return all[0], nil
}

// wantedBases are those that the units can be on, the preferred one first; none: any.
func wantedBases(charm model.Charm, given, ofModel model.Base) []model.Base {
	if given != (model.Base{}) {
		return []model.Base{given}
	}
	first := charm.ChooseBase(given, ofModel)
	if first == (model.Base{}) {
		return nil
	}
	others := slices.DeleteFunc(slices.Clone(charm.Bases), func(b model.Base) bool { return b == first })
	return append([]model.Base{first}, others...)
}

// Any is an error where no unit could have systemd at all: as there is no base, or the first
// doesn't do.
func (r *Roots) Any() error {
	all, err := r.store.List()
	switch {
	case err != nil:
		return errors.Trace(err)
	case len(all) == 0:
		return missingBase(usualBase)
	}
	return errors.Trace(r.works(all[0]))
}
