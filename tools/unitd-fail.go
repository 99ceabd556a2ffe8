package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func unitdFailTool() Tool {
	return Tool{
		Name:    "unitd-fail",
		Args:    "[<message>]",
		Summary: "end the hook as failed, and say why",
		Details: `The call doesn't return: the hook is killed with all that it has started, nothing that
it has written is kept, and the unit is in error with that message, as after an exit code that isn't 0.
It is retried and resolved like any failed hook. An action, or commands, end as
failed with the message. A message that begins with a hyphen needs "--" before it.

Only unitd has this tool.`,
		make: func(c *hookcontext.Context) command { return &unitdFail{ctx: c} },
	}
}

type unitdFail struct {
	ctx     *hookcontext.Context
	message string
}

func (t *unitdFail) declare(*flags) {}

func (t *unitdFail) parse(args []string) (err error) {
	t.message, err = optional(args)
	if t.message = oneLine(t.message); t.message == "" {
		t.message = "it failed without saying why, by unitd-fail"
	}
	return err
}

func (t *unitdFail) run(*call) error {
	t.ctx.Fail(t.message)
	return nil
}
