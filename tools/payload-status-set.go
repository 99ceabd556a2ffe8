package tools

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func payloadStatusSetTool() Tool {
	return Tool{
		Name:    "payload-status-set",
		Args:    "<class> <id> <status>",
		Summary: "update the status of a payload",
		Details: `Changes, at once, the status of what payload-register has noted: starting, running,
stopping or stopped.`,
		make: func(c *hookcontext.Context) command { return &payloadStatusSet{ctx: c} },
	}
}

type payloadStatusSet struct {
	ctx               *hookcontext.Context
	class, id, status string
}

func (t *payloadStatusSet) declare(*flags) {}

func (t *payloadStatusSet) parse(args []string) error {
	if len(args) < 3 {
		return errors.New("missing required arguments")
	}
	t.class, t.id, t.status = args[0], args[1], args[2]
	return noMore(args[3:])
}

func (t *payloadStatusSet) run(*call) error {
	known := model.PayloadStatuses()
	if !slices.Contains(known, t.status) {
		return errors.NewNotValid(nil, fmt.Sprintf(`status %q not supported; expected one of ["%s"]`, t.status, strings.Join(known, `", "`)))
	}
	return t.ctx.SetPayloadStatus(t.class, t.id, t.status)
}
