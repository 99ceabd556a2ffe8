package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretGrantTool() Tool {
	return Tool{
		Name:         "secret-grant",
		Args:         "<ID>",
		RelationArgs: "<ID>",
		Summary:      "grant access to a secret",
		Details: `Lets the application on the other side of a relation read a secret, or with --unit
one of its units, for as long as the relation is there.`,
		make: func(c *hookcontext.Context) command { return &secretGrant{ctx: c} },
	}
}

type secretGrant struct {
	ctx      *hookcontext.Context
	id       model.SecretID
	relation model.RelationID
	unit     string
}

func (t *secretGrant) declare(f *flags) {
	f.declareRelation(&t.relation)
	f.StringVar(&t.unit, "unit", "", "the unit to grant access")
}

func (t *secretGrant) parse(args []string) (err error) {
	if t.id, args, err = secretURI(t.ctx, args); err != nil {
		return err
	}
	if t.unit != "" && !validUnit(t.unit) {
		return errors.Errorf("unit %q not valid", t.unit)
	}
	if err := needRelation(t.relation); err != nil {
		return err
	}
	r, err := t.ctx.Relation(t.relation)
	if err != nil {
		return err
	}
	if t.unit != "" && model.UnitName(t.unit).Application() != r.RemoteApp {
		return errors.Errorf("cannot specify unit %q in relation to application %q", t.unit, r.RemoteApp)
	}
	return noMore(args)
}

func (t *secretGrant) run(*call) error {
	return t.ctx.GrantSecret(t.id, t.relation, model.UnitName(t.unit))
}
