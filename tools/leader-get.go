package tools

import (
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func leaderGetTool() Tool {
	return Tool{
		Name:    "leader-get",
		Args:    "[<key>]",
		Summary: "print the application's leader settings",
		Details: `Prints one setting, or all of them where the key is "-" or left out. A setting
that isn't there is printed as nothing.`,
		make: func(c *hookcontext.Context) command { return &leaderGet{ctx: c} },
	}
}

type leaderGet struct {
	ctx *hookcontext.Context
	key string
	out output
}

func (t *leaderGet) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *leaderGet) parse(args []string) (err error) {
	if len(args) > 0 && strings.Contains(args[0], "=") {
		return errors.Errorf("invalid key %q", args[0])
	}
	t.key, err = optionalKey(args)
	return err
}

func (t *leaderGet) run(c *call) error {
	settings, err := t.ctx.LeaderSettings()
	if err != nil {
		return err
	}
	return t.out.writeKey(c, settings, t.key)
}
