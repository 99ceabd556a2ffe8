package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func storageListTool() Tool {
	return Tool{
		Name:    "storage-list",
		Args:    "[<storage-name>]",
		Summary: "list storage attached to the unit",
		Details: `Prints the ids of the storage instances that are there, of all names or of one.`,
		make:    func(c *hookcontext.Context) command { return &storageList{ctx: c} },
	}
}

type storageList struct {
	ctx  *hookcontext.Context
	name string
	out  output
}

func (t *storageList) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *storageList) parse(args []string) (err error) {
	t.name, err = optional(args)
	return err
}

func (t *storageList) run(c *call) error {
	ids, err := t.ctx.StorageIDs(t.name)
	if err != nil {
		return err
	}
	names := []string{}
	for _, id := range ids {
		names = append(names, string(id))
	}
	return t.out.write(c, names)
}
