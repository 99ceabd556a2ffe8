package tools

import (
	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func secretAddTool() Tool {
	return Tool{
		Name:    "secret-add",
		Args:    "[key[#base64|#file]=value...]",
		Summary: "add a new secret",
		Details: `Makes a secret and prints its URI. A value may be in base64 (key#base64=…) or in a
file (key#file=PATH); --file names a file of keys and values in YAML or JSON. The
application owns the secret, which only its leader can make, or with --owner=unit
the unit. It is there for others once the hook has succeeded.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &secretAdd{secretFlags{ctx: c}} },
	}
}

type secretAdd struct{ secretFlags }

func (t *secretAdd) parse(args []string) error {
	if len(args) == 0 && t.file == "" {
		return errors.New("missing secret value or filename")
	}
	return t.secretFlags.parse(args)
}

func (t *secretAdd) run(c *call) error {
	change, err := t.change()
	if err != nil {
		return err
	}
	if change.Content, err = t.read(c); err != nil {
		return err
	}
	if change.Content == nil {
		return misusef("missing secret value or filename")
	}
	id, err := t.ctx.AddSecret(model.OwnerKind(t.owner), change)
	if err != nil {
		return err
	}
	c.out.WriteString(id.LongURI(t.ctx.ModelUUID()) + "\n")
	return nil
}
