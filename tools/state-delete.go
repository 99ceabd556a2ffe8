package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func stateDeleteTool() Tool {
	return Tool{
		Name:    "state-delete",
		Args:    "[<key>]",
		Summary: "delete a key of the charm's own state",
		Details: `It is no error if there is no such key. The state is written when the hook has
succeeded.`,
		make: func(c *hookcontext.Context) command { return &stateDelete{ctx: c} },
	}
}

type stateDelete struct {
	ctx *hookcontext.Context
	key string
}

func (t *stateDelete) declare(*flags) {}

func (t *stateDelete) parse(args []string) (err error) {
	t.key, err = optional(args)
	return err
}

func (t *stateDelete) run(*call) error {
	if t.key != "" {
		t.ctx.DeleteState(t.key)
	}
	return nil
}
