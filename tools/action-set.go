package tools

import (
	"slices"
	"strings"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/pattern"
)

func actionSetTool() Tool {
	return Tool{
		Name:    "action-set",
		Args:    "<key>[.<key>...]=<value> [...]",
		Summary: "set results of the action",
		Details: `Keys that are parted by dots lead into maps: "a.b=1" is {a: {b: "1"}}. Each of
them has lower-case letters, digits and, but for its ends, hyphens. The results are seen
once the action has ended.`,
		KeyValues: true,
		make:      func(c *hookcontext.Context) command { return &actionSet{ctx: c} },
	}
}

type actionSet struct {
	ctx     *hookcontext.Context
	results []actionResult
}

type actionResult struct {
	keys  []string
	value string
}

// validResult is a key of action-set. Source: docs/spec/hook-tools.md §7.4.
var validResult = pattern.New(`^[a-z0-9](?:[a-z0-9-]*[a-z0-9])?$`)

func (t *actionSet) declare(*flags) {}

func (t *actionSet) parse(args []string) error {
	for _, arg := range args {
		path, value, ok := strings.Cut(arg, "=")
		if !ok {
			return errors.Errorf("argument %q must be of the form key...=value", arg)
		}
		keys := strings.Split(path, ".")
		for _, k := range keys {
			switch {
			case !validResult.MatchString(k):
				return errors.Errorf("key %q must start and end with lowercase alphanumeric, and contain only lowercase alphanumeric, hyphens and periods", k)
			case slices.Contains([]string{"stdout", "stdout-encoding", "stderr", "stderr-encoding"}, k):
				return errors.Errorf("cannot set reserved action key %q", k)
			}
		}
		t.results = append(t.results, actionResult{keys, value})
	}
	return nil
}

func (t *actionSet) run(*call) error {
	for _, r := range t.results {
		if err := t.ctx.SetActionResult(r.keys, r.value); err != nil {
			return err
		}
	}
	return nil
}
