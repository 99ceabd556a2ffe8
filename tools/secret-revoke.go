package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretRevokeTool() Tool {
	return Tool{
		Name:    "secret-revoke",
		Args:    "<ID>",
		Summary: "revoke access to a secret",
		Details: `Takes back that an application with its units, one unit, or whoever has it through
a relation can read a secret.`,
		make: func(c *hookcontext.Context) command { return &secretRevoke{ctx: c} },
	}
}

type secretRevoke struct {
	ctx       *hookcontext.Context
	id        model.SecretID
	relation  model.RelationID
	app, unit string
}

func (t *secretRevoke) declare(f *flags) {
	f.declareRelation(&t.relation)
	f.StringVar(&t.app, "app", "", "the application to revoke access")
	f.StringVar(&t.app, "application", "", "")
	f.StringVar(&t.unit, "unit", "", "the unit to revoke access")
}

func (t *secretRevoke) parse(args []string) (err error) {
	if t.id, args, err = secretURI(t.ctx, args); err != nil {
		return err
	}
	switch {
	case t.app == "" && t.unit == "" && t.relation == model.NoRelation:
		return errors.New("missing relation or application or unit")
	case t.app != "" && t.unit != "":
		return errors.New("specify only one of application or unit")
	case t.app != "" && t.relation != model.NoRelation:
		return errors.New("do not specify both relation and app")
	case t.app != "" && !model.ValidApplication(t.app):
		return errors.Errorf("application %q not valid", t.app)
	case t.unit != "" && !validUnit(t.unit):
		return errors.Errorf("unit %q not valid", t.unit)
	}
	return noMore(args)
}

func (t *secretRevoke) run(*call) error {
	target := t.app + t.unit
	return t.ctx.RevokeSecret(t.id, target, t.relation)
}
