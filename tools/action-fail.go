package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func actionFailTool() Tool {
	return Tool{
		Name:    "action-fail",
		Args:    "[<message>]",
		Summary: "have the action count as failed",
		Details: `The action goes on; what it writes and sets is kept if it exits with 0. A message that
begins with a hyphen needs "--" before it.`,
		make: func(c *hookcontext.Context) command { return &actionFail{ctx: c} },
	}
}

type actionFail struct {
	ctx     *hookcontext.Context
	message string
}

func (t *actionFail) declare(*flags) {}

func (t *actionFail) parse(args []string) (err error) {
	if len(args) == 0 {
		t.message = "action failed without reason given, check action for errors"
		return nil
	}
	t.message, err = optional(args)
	return err
}

func (t *actionFail) run(*call) error { return t.ctx.FailAction(t.message) }
