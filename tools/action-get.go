package tools

import (
	"strings"

	hookcontext "github.com/unitd/unitd/context"
)

func actionGetTool() Tool {
	return Tool{
		Name:    "action-get",
		Args:    "[<key>[.<key>...]]",
		Summary: "print the parameters of the action",
		Details: `Prints all parameters, or the one that a path of keys leads to; where it leads to
none, nothing.`,
		make: func(c *hookcontext.Context) command { return &actionGet{ctx: c} },
	}
}

type actionGet struct {
	ctx *hookcontext.Context
	key string
	out output
}

func (t *actionGet) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *actionGet) parse(args []string) (err error) {
	t.key, err = optional(args)
	return err
}

func (t *actionGet) run(c *call) error {
	params, err := t.ctx.ActionParams()
	if err != nil {
		return err
	}
	if params == nil {
		params = map[string]any{}
	}
	var value any = params
	if t.key != "" {
		for k := range strings.SplitSeq(t.key, ".") {
			m, _ := value.(map[string]any)
			value = m[k]
		}
	}
	return t.out.write(c, value)
}
