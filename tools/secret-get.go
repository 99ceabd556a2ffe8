package tools

import (
	"fmt"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func secretGetTool() Tool {
	return Tool{
		Name:    "secret-get",
		Args:    "[<ID>] [key[#base64]]",
		Summary: "get the content of a secret",
		Details: `Prints the content of a secret, or of one key. A unit gets the revision that was the
latest when it first asked; --refresh makes it the latest one from now on, --peek
shows that once. --label with an ID gives the secret a label of the reader's own,
by which it is found from then on.`,
		make: func(c *hookcontext.Context) command { return &secretGet{ctx: c} },
	}
}

type secretGet struct {
	ctx *hookcontext.Context
	ref hookcontext.SecretRef
	key string
	out output
}

func (t *secretGet) declare(f *flags) {
	f.StringVar(&t.ref.Label, "label", "", "a label used to identify the secret in hooks")
	f.BoolVar(&t.ref.Peek, "peek", false, "get the latest revision just this time")
	f.BoolVar(&t.ref.Refresh, "refresh", false, "get the latest revision and also get this same revision for subsequent calls")
	t.out.declare(f, inYAML, inJSON)
}

func (t *secretGet) parse(args []string) (err error) {
	if len(args) == 0 && t.ref.Label == "" {
		return errors.New("require either a secret URI or label")
	}
	if t.ref.Peek && t.ref.Refresh {
		return errors.New("specify one of --peek or --refresh but not both")
	}
	if len(args) > 0 {
		if t.ref.ID, args, err = readSecretURI(t.ctx, args); err != nil {
			return err
		}
	}
	t.key, err = optional(args)
	return err
}

func (t *secretGet) run(c *call) error {
	content, err := t.ctx.Secret(t.ref)
	if err != nil {
		return err
	}
	if key, ok := strings.CutSuffix(t.key, "#base64"); ok {
		if v, there := content[key]; there {
			return t.out.write(c, v)
		}
	}
	values, err := decoded(content)
	if err != nil {
		return err
	}
	if t.key == "" {
		return t.out.write(c, values)
	}
	v, ok := values[t.key]
	if !ok {
		return errors.NewNotFound(nil, fmt.Sprintf("secret key value %q not found", strings.TrimSuffix(t.key, "#base64")))
	}
	return t.out.write(c, v)
}
