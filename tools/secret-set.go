package tools

import (
	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretSetTool() Tool {
	return Tool{
		Name:    "secret-set",
		Args:    "<ID> [key[#base64|#file]=value...]",
		Summary: "update an existing secret",
		Details: `Changes a secret of the unit's or, in the leader, of its application's: what the
flags say, and its content, which makes a new revision unless it is that of the
latest one. What isn't given stays.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &secretSet{secretFlags: secretFlags{ctx: c}} },
	}
}

type secretSet struct {
	secretFlags
	id model.SecretID
}

func (t *secretSet) parse(args []string) (err error) {
	if t.id, args, err = secretURI(t.ctx, args); err != nil {
		return err
	}
	return t.secretFlags.parse(args)
}

func (t *secretSet) run(c *call) error {
	change, err := t.change()
	if err != nil {
		return err
	}
	if change.Content, err = t.read(c); err != nil {
		return err
	}
	change.ID = t.id
	return t.ctx.SetSecret(change)
}
