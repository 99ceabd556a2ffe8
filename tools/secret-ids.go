package tools

import (
	"slices"

	hookcontext "github.com/unitd/unitd/context"
)

func secretIDsTool() Tool {
	return Tool{
		Name:    "secret-ids",
		Summary: "print secret IDs",
		Details: `Prints the IDs of the secrets of the unit's own and, in the leader, of its
application's, in order.`,
		make: func(c *hookcontext.Context) command { return &secretIDs{ctx: c} },
	}
}

type secretIDs struct {
	ctx *hookcontext.Context
	out output
}

func (t *secretIDs) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *secretIDs) parse(args []string) error { return noMore(args) }

func (t *secretIDs) run(c *call) error {
	own, err := t.ctx.Secrets()
	if err != nil {
		return err
	}
	ids := make([]string, 0, len(own)) // none is a list, too
	for _, s := range own {
		ids = append(ids, string(s.ID))
	}
	slices.Sort(ids)
	return t.out.write(c, ids)
}
