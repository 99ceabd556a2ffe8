package cli

import (
	"fmt"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
)

// actionWait is how long a person waits for an action if nothing else is said.
const actionWait = time.Minute

func (a taskVerbs) runCmd() *cobra.Command {
	var f taskFlags
	var params string
	var asText bool
	cmd := &cobra.Command{
		Use:   "run UNIT … ACTION [KEY[.KEY…]=VALUE …]",
		Short: "Run an action of a charm on units",
		Long: `Run an action of the charm's on units, and wait for its results. APPLICATION/leader
stands for the unit that leads. An action waits for the hooks of its unit, and runs
also where a hook has failed. Its parameters are checked against the charm's
schema before anything is queued.`,
		Example: `  unitd run ledger/0 backup
  unitd run ledger/leader backup target.path=/srv keep=3
  unitd run ledger/0 ledger/1 backup --params backup.yaml --background`,
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			units, action, rest, err := splitRun(args)
			if err != nil {
				return err
			}
			values, err := actionParams(params, rest, asText)
			if err != nil {
				return err
			}
			return a.run(units, action, values, f)
		},
	}
	cmd.Flags().DurationVar(&f.wait, "wait", actionWait, "give up waiting after this long; the action goes on (0: never)")
	cmd.Flags().BoolVar(&f.background, "background", false, "do not wait")
	cmd.Flags().StringVar(&params, "params", "", "a YAML file with parameters")
	cmd.Flags().BoolVar(&asText, "string-args", false, "take the values of KEY=VALUE for text, whatever they look like")
	cmd.Flags().StringVar(&f.format, "format", "plain", "plain, json or yaml")
	cmd.Flags().StringVarP(&f.output, "output", "o", "", "write to this file instead")
	formats(cmd, "plain", "json", "yaml")
	return cmd
}

var (
	unitOrLeader = pattern.New(`^[a-z][a-z0-9-]*/(?:[0-9]+|leader)$`)
	actionName   = pattern.New(`^[a-z](?:[a-z0-9-_]*[a-z0-9])?$`)
)

// splitRun parts the arguments of run. Source: docs/spec/cli-juju.md §6.
func splitRun(args []string) (units []string, action string, rest []string, err error) {
	for i, arg := range args {
		switch {
		case unitOrLeader.MatchString(arg):
			units = append(units, arg)
			continue
		case len(units) == 0:
			return nil, "", nil, Usagef("no unit specified")
		case actionName.MatchString(arg):
			return units, arg, args[i+1:], nil
		}
		return nil, "", nil, Usagef("invalid unit or action name %q", arg)
	}
	if len(units) == 0 {
		return nil, "", nil, Usagef("no unit specified")
	}
	return nil, "", nil, Usagef("no action specified")
}

// actionParams are the parameters in a file, with those of arguments over them.
func actionParams(path string, args []string, asText bool) (map[string]any, error) {
	params := map[string]any{}
	if path != "" {
		b, err := os.ReadFile(path)
		if err != nil {
			return nil, errors.Annotate(err, "cannot read the parameters")
		}
		if err := decodeParams(b, &params); err != nil {
			return nil, errors.Errorf("%s: not a map of parameters: %s", path, strings.Join(strings.Fields(err.Error()), " "))
		}
		if params == nil {
			params = map[string]any{}
		}
	}
	for _, arg := range args {
		path, text, ok := strings.Cut(arg, "=")
		keys := strings.Split(path, ".")
		for _, k := range keys {
			ok = ok && k != ""
		}
		if !ok {
			return nil, Usagef("argument %q must be of the form key.key.key...=value", arg)
		}
		var value any = text
		if !asText {
			if err := decodeParams([]byte(text), &value); err != nil {
				return nil, Usagef("argument %q: the value is no YAML: %s", arg, strings.Join(strings.Fields(err.Error()), " "))
			}
		}
		setParam(params, keys, value)
	}
	return params, nil
}

// decodeParams decodes YAML, in which dates stay the text that they are written as: JSON,
// in which a charm gets its parameters, has none.
func decodeParams(b []byte, into any) error {
	var n yaml.Node
	if err := yaml.Unmarshal(b, &n); err != nil || n.IsZero() {
		return err
	}
	datesAsText(&n)
	return n.Decode(into)
}

func datesAsText(n *yaml.Node) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, c := range n.Content {
		datesAsText(c)
	}
}

func setParam(params map[string]any, keys []string, value any) {
	for _, k := range keys[:len(keys)-1] {
		inner, ok := params[k].(map[string]any)
		if !ok {
			inner = map[string]any{}
			params[k] = inner
		}
		params = inner
	}
	params[keys[len(keys)-1]] = value
}

func (a taskVerbs) run(units []string, action string, params map[string]any, f taskFlags) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	requests := make([]state.TaskRequest, len(units))
	for i, unit := range units {
		requests[i] = state.TaskRequest{Unit: unit, TaskSpec: state.TaskSpec{
			Kind: state.ActionTask, Action: action, Params: maps.Clone(params), Relation: model.NoRelation,
		}}
	}
	op, tasks, err := m.Enqueue(a.Context(), fmt.Sprintf("%s run on %s", action, strings.Join(units, ",")), requests)
	if err != nil {
		return err
	}
	if op.Fail != "" {
		a.unscheduled(op)
		return nil
	}
	if err := a.Ensure(); err != nil {
		return err
	}
	if f.background {
		return a.scheduled(op)
	}
	plural := "s"
	if len(tasks) == 1 {
		plural = ""
	}
	a.Note("Running operation %s with %d task%s", op.ID, len(tasks), plural)
	for _, t := range tasks {
		a.Note("  - task %s on %s", t.ID, t.Unit.Tag())
	}
	a.Note("")
	for _, t := range tasks {
		a.Note("Waiting for task %s...", t.ID)
	}
	return a.follow(m, tasks, f, func(_ state.TaskDoc, line state.TaskLine) {
		a.Note("%s %s", line.Time.UTC().Format(time.TimeOnly), render.Record(line.Message, "    "))
	})
}
