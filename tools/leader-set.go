package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func leaderSetTool() Tool {
	return Tool{
		Name:    "leader-set",
		Args:    "<key>=<value> [...]",
		Summary: "write the application's leader settings",
		Details: `Only the leader can. An empty value deletes the setting. Settings are written
when the hook has succeeded.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &leaderSet{ctx: c} },
	}
}

type leaderSet struct {
	ctx      *hookcontext.Context
	settings map[string]string
}

func (t *leaderSet) declare(*flags) {}

func (t *leaderSet) parse(args []string) (err error) {
	t.settings, err = keyValues(args)
	return err
}

func (t *leaderSet) run(*call) error { return t.ctx.SetLeaderSettings(t.settings) }
