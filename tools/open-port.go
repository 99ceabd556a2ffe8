package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func openPortTool() Tool {
	return Tool{
		Name:    "open-port",
		Args:    "<port>[/<protocol>] or <from>-<to>[/<protocol>] or icmp",
		Summary: "open a port or range of ports",
		Details: `The protocol is tcp, udp or icmp; tcp unless another is given. The ports are open
once the hook has succeeded and while the application is exposed: for all of
its endpoints, or for those that --endpoints names, which must be the charm's
or one of its extra bindings.

A range that overlaps one of another unit on the machine is refused.`,
		make: func(c *hookcontext.Context) command { return &openPort{ctx: c} },
	}
}

type openPort struct {
	ctx *hookcontext.Context
	portArgs
}

func (t *openPort) run(*call) error { return t.ctx.OpenPort(t.ports, t.endpoints) }
