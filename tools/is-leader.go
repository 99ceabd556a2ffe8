package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func isLeaderTool() Tool {
	return Tool{
		Name:    "is-leader",
		Summary: "print whether the unit leads its application",
		Details: `True holds for the next 30 seconds; ask again later. Once false, it stays false
until the hook ends.`,
		make: func(c *hookcontext.Context) command { return &isLeader{ctx: c} },
	}
}

type isLeader struct {
	ctx *hookcontext.Context
	out output
}

func (t *isLeader) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *isLeader) parse(args []string) error { return noMore(args) }

func (t *isLeader) run(c *call) error {
	leader, err := t.ctx.IsLeader()
	if err != nil {
		return errors.Annotate(err, "leadership status unknown")
	}
	return t.out.write(c, leader)
}
