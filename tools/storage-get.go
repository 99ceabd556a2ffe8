package tools

import (
	"strconv"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func storageGetTool() Tool {
	return Tool{
		Name:    "storage-get",
		Args:    "[<key>]",
		Summary: "print information for storage instance with specified id",
		Details: `Prints the kind of a storage instance, filesystem or block, and its location, a
directory or a device; with a key, just that. In a storage hook it is that hook's
storage unless another one is named.`,
		make: func(c *hookcontext.Context) command { return &storageGet{ctx: c} },
	}
}

type storageGet struct {
	ctx *hookcontext.Context
	id  model.StorageID
	key string
	out output
}

func (t *storageGet) declare(f *flags) {
	t.id, _ = t.ctx.HookStorage()
	f.Var(&storageFlag{t.ctx, &t.id}, "s", "specify a storage instance by id")
	t.out.declare(f, smart, inYAML, inJSON)
}

func (t *storageGet) parse(args []string) (err error) {
	if t.id == "" {
		return errors.New("no storage instance specified")
	}
	t.key, err = optional(args)
	return err
}

func (t *storageGet) run(c *call) error {
	s, err := t.ctx.Storage(t.id)
	if err != nil {
		return err
	}
	values := map[string]string{"kind": s.Kind, "location": s.Location}
	if t.key == "" {
		return t.out.write(c, values)
	}
	value, ok := values[t.key]
	if !ok {
		return errors.Errorf("invalid storage attribute %s", strconv.Quote(t.key))
	}
	return t.out.write(c, value)
}

// storageFlag is an instance that is attached to the unit. Charms read the
// hook's own out of the help text.
type storageFlag struct {
	ctx *hookcontext.Context
	id  *model.StorageID
}

func (s *storageFlag) Set(text string) error {
	id, err := model.ParseStorageID(text)
	if err != nil {
		return err
	}
	if _, err := s.ctx.Storage(id); err != nil {
		return err
	}
	*s.id = id
	return nil
}

func (s *storageFlag) String() string { return string(*s.id) }
