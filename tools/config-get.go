package tools

import (
	"maps"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func configGetTool() Tool {
	return Tool{
		Name:    "config-get",
		Args:    "[<key>]",
		Summary: "print application configuration",
		Details: `Prints the value of one option, or all that have a value or a default; with
--all also those that have none. An option that isn't there is printed as
nothing.`,
		make: func(c *hookcontext.Context) command { return &configGet{ctx: c} },
	}
}

type configGet struct {
	ctx *hookcontext.Context
	all bool
	key string
	out output
}

func (t *configGet) declare(f *flags) {
	f.BoolVar(&t.all, "a", false, "Print all keys")
	f.BoolVar(&t.all, "all", false, "")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *configGet) parse(args []string) error {
	var err error
	if t.key, err = optional(args); err != nil {
		return err
	}
	if t.key != "" && t.all {
		return errors.Errorf("cannot use argument --all together with key %q", t.key)
	}
	return nil
}

func (t *configGet) run(c *call) error {
	config, err := t.ctx.Config()
	if err != nil {
		return err
	}
	if t.key != "" {
		return t.out.write(c, config[t.key])
	}
	if config == nil {
		config = map[string]any{}
	}
	if !t.all {
		maps.DeleteFunc(config, func(_ string, v any) bool { return v == nil })
	}
	return t.out.write(c, config)
}
