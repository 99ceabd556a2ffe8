package tools

import (
	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretRemoveTool() Tool {
	return Tool{
		Name:    "secret-remove",
		Args:    "<ID>",
		Summary: "remove an existing secret",
		Details: `Removes a secret of the unit's own or, in the leader, of its application's; or with
--revision one revision of it.`,
		make: func(c *hookcontext.Context) command { return &secretRemove{ctx: c} },
	}
}

type secretRemove struct {
	ctx      *hookcontext.Context
	id       model.SecretID
	revision int
}

func (t *secretRemove) declare(f *flags) {
	f.IntVar(&t.revision, "revision", 0, "remove the specified revision")
}

func (t *secretRemove) parse(args []string) (err error) {
	if t.id, args, err = secretURI(t.ctx, args); err != nil {
		return err
	}
	return noMore(args)
}

func (t *secretRemove) run(*call) error { return t.ctx.RemoveSecret(t.id, t.revision) }
