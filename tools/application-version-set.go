package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func applicationVersionSetTool() Tool {
	return Tool{
		Name:    "application-version-set",
		Args:    "<new-version>",
		Summary: "say which version of the application is deployed",
		Details: `The version is that of the software, not of the charm. It is seen when the hook
has succeeded.`,
		make: func(c *hookcontext.Context) command { return &applicationVersionSet{ctx: c} },
	}
}

type applicationVersionSet struct {
	ctx     *hookcontext.Context
	version string
}

func (t *applicationVersionSet) declare(*flags) {}

func (t *applicationVersionSet) parse(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("no version specified")
	}
	t.version, err = optional(args)
	return err
}

func (t *applicationVersionSet) run(*call) error {
	t.ctx.SetWorkloadVersion(t.version)
	return nil
}
