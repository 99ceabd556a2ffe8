package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func jujuRebootTool() Tool {
	return Tool{
		Name:    "juju-reboot",
		Summary: "reboot the machine",
		Details: `The machine reboots when the hook has succeeded. With --now the hook is ended, the
machine reboots at once, and the hook runs again afterwards.`,
		make: func(c *hookcontext.Context) command { return &jujuReboot{ctx: c} },
	}
}

type jujuReboot struct {
	ctx *hookcontext.Context
	now bool
}

func (t *jujuReboot) declare(f *flags) {
	f.BoolVar(&t.now, "now", false, "Reboot immediately, killing the invoking process")
}

func (t *jujuReboot) parse(args []string) error { return noMore(args) }

func (t *jujuReboot) run(*call) error { return t.ctx.Reboot(t.now) }
