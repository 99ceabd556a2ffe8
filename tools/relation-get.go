package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func relationGetTool() Tool {
	return Tool{
		Name:         "relation-get",
		Args:         "<key> <unit id>",
		RelationArgs: "[<key> [<unit id>]]",
		Summary:      "get relation settings",
		Details: `Prints one setting, or all of them where the key is "-" or left out, of a unit
in the relation: the hook's remote unit unless another is named. With --app it
is the application's settings: the remote one's unless an application, or a unit
of it, is named. A setting that isn't there is printed as nothing.

The unit's own settings are as the hook has left them. The own application's
can be read by the leader, and in peer relations by every unit.`,
		make: func(c *hookcontext.Context) command { return &relationGet{ctx: c} },
	}
}

type relationGet struct {
	ctx         *hookcontext.Context
	relation    model.RelationID
	application bool
	key         string
	owner       string // the unit or application whose settings it is
	out         output
}

func (t *relationGet) declare(f *flags) {
	f.declareRelation(&t.relation)
	f.BoolVar(&t.application, "app", false, "Get the relation data for the overall application, not just a unit")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *relationGet) parse(args []string) error {
	if err := needRelation(t.relation); err != nil {
		return err
	}
	if len(args) > 0 {
		if args[0] != "-" {
			t.key = args[0]
		}
		args = args[1:]
	}
	if len(args) == 0 {
		return t.defaultOwner()
	}
	if err := t.parseOwner(args[0]); err != nil {
		return err
	}
	return noMore(args[1:])
}

// defaultOwner is the hook's remote unit; in hooks that have none, as
// relation-broken, its remote application.
func (t *relationGet) defaultOwner() error {
	hook := t.ctx.Hook()
	if hook.RemoteUnit == "" {
		t.application = true
	}
	t.owner = string(hook.RemoteUnit)
	if t.application {
		t.owner = hook.RemoteApp
	}
	if t.owner == "" {
		return errors.New("no unit or application specified")
	}
	return nil
}

func (t *relationGet) parseOwner(arg string) error {
	unit, err := model.ParseUnitName(arg)
	switch {
	case t.application && err == nil:
		t.owner = unit.Application()
	case t.application && model.ValidApplication(arg):
		t.owner = arg
	case t.application: // nobody: permission will be denied
	case err == nil:
		t.owner = arg
	case model.ValidApplication(arg):
		return errors.Errorf("expected unit name, got application name %q", arg)
	default:
		return err
	}
	return nil
}

func (t *relationGet) run(c *call) error {
	var settings model.Settings
	var err error
	if t.application {
		settings, err = t.ctx.ApplicationSettings(t.relation, t.owner)
	} else {
		settings, err = t.ctx.UnitSettings(t.relation, model.UnitName(t.owner))
	}
	if err != nil {
		return err
	}
	return t.out.writeKey(c, settings, t.key)
}
