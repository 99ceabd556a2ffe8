package tools

import (
	"maps"

	hookcontext "github.com/unitd/unitd/context"
)

func stateSetTool() Tool {
	return Tool{
		Name:    "state-set",
		Args:    "[<key>=<value> [...]]",
		Summary: "write the charm's own state",
		Details: `Writes keys of the charm's key-value state. An empty value is kept; state-delete
deletes. --file names a file of keys and values in YAML or JSON; "-" is standard
input. Arguments win over the file. The state is written when the hook has
succeeded.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &stateSet{ctx: c} },
	}
}

type stateSet struct {
	ctx    *hookcontext.Context
	file   string
	values map[string]string
}

func (t *stateSet) declare(f *flags) {
	f.StringVar(&t.file, "file", "", "Read keys and values from a file of YAML or JSON")
}

func (t *stateSet) parse(args []string) (err error) {
	t.values, err = keyValues(args)
	return err
}

func (t *stateSet) run(c *call) error {
	values, err := settingsFile(c, t.file)
	if err != nil {
		return err
	}
	if values == nil {
		values = map[string]string{}
	}
	maps.Copy(values, t.values)
	return t.ctx.SetState(values)
}
