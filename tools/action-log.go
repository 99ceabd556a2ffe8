package tools

import (
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func actionLogTool() Tool {
	return Tool{
		Name:    "action-log",
		Args:    "<message>",
		Summary: "tell whoever waits for the action something",
		Details: `Arguments are joined by blanks. The message is seen at once.`,
		make:    func(c *hookcontext.Context) command { return &actionLog{ctx: c} },
	}
}

type actionLog struct {
	ctx     *hookcontext.Context
	message string
}

func (t *actionLog) declare(*flags) {}

func (t *actionLog) parse(args []string) error {
	if len(args) == 0 {
		return errors.New("no message specified")
	}
	t.message = strings.Join(args, " ")
	return nil
}

func (t *actionLog) run(*call) error { return t.ctx.LogAction(t.message) }
