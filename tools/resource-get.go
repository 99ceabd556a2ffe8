package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func resourceGetTool() Tool {
	return Tool{
		Name:    "resource-get",
		Args:    "<resource name>",
		Summary: "print the path of a resource's file",
		Details: `Gets the file that the application was given for a resource of the charm, unless
the unit has it already, and prints its path, with no newline at the end.`,
		make: func(c *hookcontext.Context) command { return &resourceGet{ctx: c} },
	}
}

type resourceGet struct {
	ctx  *hookcontext.Context
	name string
}

func (t *resourceGet) declare(*flags) {}

func (t *resourceGet) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("missing required resource name")
	}
	t.name, err = optional(args)
	return err
}

func (t *resourceGet) run(c *call) error {
	path, err := t.ctx.Resource(t.name)
	if err != nil {
		return errors.Annotate(err, "could not download resource")
	}
	c.out.WriteString(path)
	return nil
}
