package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func unitGetTool() Tool {
	return Tool{
		Name:    "unit-get",
		Args:    "<setting>",
		Summary: "print public-address or private-address",
		Details: `The private address is the first of the unit's default network; see network-get
for others.`,
		make: func(c *hookcontext.Context) command { return &unitGet{ctx: c} },
	}
}

type unitGet struct {
	ctx     *hookcontext.Context
	address func() (string, error)
	out     output
}

func (t *unitGet) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *unitGet) parse(args []string) error {
	if len(args) == 0 {
		return errors.New("no setting specified")
	}
	switch args[0] {
	case "private-address":
		t.address = t.ctx.PrivateAddress
	case "public-address":
		t.address = t.ctx.PublicAddress
	default:
		return errors.Errorf("unknown setting %q", args[0])
	}
	return noMore(args[1:])
}

func (t *unitGet) run(c *call) error {
	address, err := t.address()
	if err != nil {
		return err
	}
	return t.out.write(c, address)
}
