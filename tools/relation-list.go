package tools

import (
	"slices"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func relationListTool() Tool {
	return Tool{
		Name:    "relation-list",
		Summary: "list the remote units of a relation",
		Details: `Units are listed from their relation-joined hook on until their
relation-departed hook begins. With --app it is the remote application's name.`,
		make: func(c *hookcontext.Context) command { return &relationList{ctx: c} },
	}
}

type relationList struct {
	ctx         *hookcontext.Context
	relation    model.RelationID
	application bool
	out         output
}

func (t *relationList) declare(f *flags) {
	f.declareRelation(&t.relation)
	f.BoolVar(&t.application, "app", false, "List remote application instead of participating units")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *relationList) parse(args []string) error {
	if err := needRelation(t.relation); err != nil {
		return err
	}
	return noMore(args)
}

func (t *relationList) run(c *call) error {
	relation, err := t.ctx.Relation(t.relation)
	if err != nil {
		return err
	}
	if t.application {
		return t.out.write(c, relation.RemoteApp)
	}
	units := []string{}
	for _, m := range relation.Members {
		units = append(units, string(m.Unit))
	}
	slices.Sort(units) // as text, as charms know it
	return t.out.write(c, units)
}
