package tools

import (
	"fmt"
	"slices"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func relationIDsTool() Tool {
	return Tool{
		Name:         "relation-ids",
		Args:         "<name>",
		RelationArgs: "[<name>]",
		Summary:      "list the ids of the relations at an endpoint",
		Details: `The endpoint is the hook's own unless another is named. Relations that are
going away and have no members left are not listed.`,
		make: func(c *hookcontext.Context) command { return &relationIDs{ctx: c} },
	}
}

type relationIDs struct {
	ctx      *hookcontext.Context
	endpoint string
	out      output
}

func (t *relationIDs) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *relationIDs) parse(args []string) error {
	if len(args) > 0 {
		var err error
		t.endpoint, err = optional(args)
		return err
	}
	hook := t.ctx.Hook()
	if !hook.HasRelation() {
		return errors.New("no endpoint name specified")
	}
	t.endpoint = hook.Endpoint
	return nil
}

func (t *relationIDs) run(c *call) error {
	ids := []string{}
	for _, r := range t.ctx.Relations(t.endpoint) {
		ids = append(ids, fmt.Sprintf("%s:%d", r.Endpoint, r.ID))
	}
	slices.Sort(ids) // as text, as charms know it: db:10 before db:9
	return t.out.write(c, ids)
}
