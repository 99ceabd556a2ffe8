package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func stateGetTool() Tool {
	return Tool{
		Name:    "state-get",
		Args:    "[<key>]",
		Summary: "print the charm's own state",
		Details: `Prints one value of the charm's key-value state, or all of it where the key is
"-" or left out. A key that isn't there is printed as empty text, or is an error
with --strict.`,
		make: func(c *hookcontext.Context) command { return &stateGet{ctx: c} },
	}
}

type stateGet struct {
	ctx    *hookcontext.Context
	strict bool
	key    string
	out    output
}

func (t *stateGet) declare(f *flags) {
	f.BoolVar(&t.strict, "strict", false, "Return an error if the requested key does not exist")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *stateGet) parse(args []string) (err error) {
	t.key, err = optionalKey(args)
	return err
}

func (t *stateGet) run(c *call) error {
	state, err := t.ctx.State()
	if err != nil {
		return err
	}
	if t.key == "" {
		return t.out.write(c, state)
	}
	value, ok := state[t.key]
	if !ok && t.strict {
		return errors.NotFoundf("%q", t.key)
	}
	return t.out.write(c, value)
}
