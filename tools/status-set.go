package tools

import (
	"slices"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func statusSetTool() Tool {
	return Tool{
		Name:    "status-set",
		Args:    "<maintenance|blocked|waiting|active> [message]",
		Summary: "set the status of the unit or application",
		Details: `The status is seen at once, and stays even if the hook fails. A message that
begins with a hyphen needs "--" before it. --application sets the application's
status, which only the leader can.`,
		make: func(c *hookcontext.Context) command { return &statusSet{ctx: c} },
	}
}

type statusSet struct {
	ctx             *hookcontext.Context
	application     bool
	status, message string
}

func (t *statusSet) declare(f *flags) {
	f.BoolVar(&t.application, "application", false, "Set this status for the application, if the unit leads it")
}

func (t *statusSet) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("invalid args, require <status> [message]")
	}
	t.status = args[0]
	if words := model.CharmStatuses(); !slices.Contains(words, t.status) {
		return errors.Errorf("invalid status %q, expected one of %v", t.status, words)
	}
	t.message, err = optional(args[1:])
	return err
}

func (t *statusSet) run(*call) error {
	if t.application {
		return t.ctx.SetApplicationStatus(t.status, t.message)
	}
	return t.ctx.SetUnitStatus(t.status, t.message)
}
