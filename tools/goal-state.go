package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func goalStateTool() Tool {
	return Tool{
		Name:    "goal-state",
		Summary: "print the planned units and relations",
		Details: `Prints the units that the application will have, and at each endpoint the remote
applications and units, with their status and since when it holds.`,
		make: func(c *hookcontext.Context) command { return &goalState{ctx: c} },
	}
}

type goalState struct {
	ctx *hookcontext.Context
	out output
}

func (t *goalState) declare(f *flags) { t.out.declare(f, inYAML, inJSON) }

func (t *goalState) parse(args []string) error { return noMore(args) }

// What goal-state prints, in this order.
type (
	goalInfo struct {
		Units     map[string]goal            `json:"units" yaml:"units"`
		Relations map[string]map[string]goal `json:"relations" yaml:"relations"`
	}
	goal struct {
		Status string `json:"status" yaml:"status"`
		Since  string `json:"since" yaml:"since"`
	}
)

func (t *goalState) run(c *call) error {
	state, err := t.ctx.GoalState()
	if err != nil {
		return err
	}
	info := goalInfo{Units: goals(state.Units), Relations: map[string]map[string]goal{}}
	for endpoint, remote := range state.Relations {
		info.Relations[endpoint] = goals(remote)
	}
	return t.out.write(c, info)
}

func goals(from map[string]hookcontext.Goal) map[string]goal {
	out := map[string]goal{}
	for name, g := range from {
		out[name] = goal{g.Status, g.Since.UTC().Format("2006-01-02 15:04:05Z")}
	}
	return out
}
