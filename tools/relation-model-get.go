package tools

import (
	"cmp"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func relationModelGetTool() Tool {
	return Tool{
		Name:    "relation-model-get",
		Summary: "get details of the model that the other side of a relation is in",
		Details: `Prints a map with one key, uuid. It is that of the unit's own model, unless the
relation is with an application of another model.`,
		make: func(c *hookcontext.Context) command { return &relationModelGet{ctx: c} },
	}
}

type relationModelGet struct {
	ctx      *hookcontext.Context
	relation model.RelationID
	out      output
}

func (t *relationModelGet) declare(f *flags) {
	f.declareRelation(&t.relation)
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *relationModelGet) parse(args []string) error {
	if err := needRelation(t.relation); err != nil {
		return err
	}
	return noMore(args)
}

func (t *relationModelGet) run(c *call) error {
	r, err := t.ctx.Relation(t.relation)
	if err != nil {
		return err
	}
	return t.out.write(c, map[string]string{"uuid": cmp.Or(r.RemoteModel, t.ctx.ModelUUID())})
}
