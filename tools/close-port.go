package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func closePortTool() Tool {
	return Tool{
		Name:    "close-port",
		Args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
		Summary: "close a port or range of ports",
		Details: `Undoes open-port, for all endpoints or for those that --endpoints names, which
must be the charm's or one of its extra bindings. It is no error if the ports
are closed. They are closed once the hook has succeeded.

A range that overlaps one of another unit on the machine, or that is only a part
of one of the unit, is refused.`,
		make: func(c *hookcontext.Context) command { return &closePort{ctx: c} },
	}
}

type closePort struct {
	ctx *hookcontext.Context
	portArgs
}

func (t *closePort) run(*call) error { return t.ctx.ClosePort(t.ports, t.endpoints) }
