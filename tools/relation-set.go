package tools

import (
	"maps"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

func relationSetTool() Tool {
	return Tool{
		Name:    "relation-set",
		Args:    "[<key>=<value> [...]]",
		Summary: "set relation settings",
		Details: `Writes the unit's own settings in the relation, or with --app the application's,
which only the leader can. An empty value deletes the setting. --file names a
file of settings in YAML or JSON; "-" is standard input. Settings given as
arguments win over those of the file.

What is written is seen by the other side when the hook has succeeded.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &relationSet{ctx: c} },
	}
}

type relationSet struct {
	ctx         *hookcontext.Context
	relation    model.RelationID
	application bool
	file        string
	settings    map[string]string
}

func (t *relationSet) declare(f *flags) {
	f.declareRelation(&t.relation)
	f.BoolVar(&t.application, "app", false, "Set the relation data for the overall application, not just a unit")
	f.StringVar(&t.file, "file", "", "Read settings from a file of YAML or JSON")
	f.declareDeadFormat()
}

func (t *relationSet) parse(args []string) (err error) {
	if err := needRelation(t.relation); err != nil {
		return err
	}
	t.settings, err = keyValues(args)
	return err
}

func (t *relationSet) run(c *call) error {
	settings, err := settingsFile(c, t.file)
	if err != nil {
		return err
	}
	if settings == nil {
		settings = map[string]string{}
	}
	maps.Copy(settings, t.settings)
	switch {
	case len(settings) == 0:
		return nil
	case t.application:
		return t.ctx.SetApplicationSettings(t.relation, settings)
	}
	return t.ctx.SetUnitSettings(t.relation, settings)
}
