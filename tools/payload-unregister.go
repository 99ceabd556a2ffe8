package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func payloadUnregisterTool() Tool {
	return Tool{
		Name:    "payload-unregister",
		Args:    "<class> <id>",
		Summary: "stop tracking a payload",
		Details: `Forgets, at once, what payload-register has noted.`,
		make:    func(c *hookcontext.Context) command { return &payloadUnregister{ctx: c} },
	}
}

type payloadUnregister struct {
	ctx       *hookcontext.Context
	class, id string
}

func (t *payloadUnregister) declare(*flags) {}

func (t *payloadUnregister) parse(args []string) error {
	if len(args) < 2 {
		return errors.New("missing required arguments")
	}
	t.class, t.id = args[0], args[1]
	return noMore(args[2:])
}

func (t *payloadUnregister) run(*call) error { return t.ctx.UnregisterPayload(t.class, t.id) }
