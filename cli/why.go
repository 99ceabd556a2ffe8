package cli

import (
	"context"
	"encoding/json"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/why"
)

func (a statusVerbs) whyCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "why [UNIT …]",
		Short: "Say in one sentence what is holding a unit up",
		Long: `Say of each unit (all, if none is named) what it waits for, since when, and what
would free it: a hook that runs, one that has failed, the turn of another unit on
its machine, an agent that isn't there, … or nothing.`,
		Example:           "  unitd why ledger/0\n  unitd why --format json",
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.why(args, format, output)
		},
	}
	cmd.Flags().StringVar(&format, "format", "line", "output format: line, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "line", "json", "yaml")
	return cmd
}

func (a statusVerbs) why(args []string, format, output string) error {
	names, err := unitNames(args)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		units, err := m.Units(a.Context())
		if err != nil {
			return err
		}
		for _, u := range units {
			names = append(names, u.Name)
		}
	}
	word, err := a.agentsWord()
	if err != nil {
		return err
	}
	text, all, sources := "", render.Tree{}, a.sources(m)
	for _, name := range names {
		answer, err := a.whyUnit(m, name, word)
		if err != nil {
			return err
		}
		text += render.Harmless(sources.Text(name.Tag(), answer.Sentence)) + "\n"
		// As JSON has it, in YAML too.
		b, err := json.Marshal(answer)
		if err != nil {
			return errors.Trace(err)
		}
		var t render.Tree
		if err := json.Unmarshal(b, &t); err != nil {
			return errors.Trace(err)
		}
		all[string(name)] = t
	}
	if format != "line" {
		return a.write(format, output, all)
	}
	return a.text(output, text)
}

// agentsWord is what the agent of this data directory says; nil: none runs.
func (a statusVerbs) agentsWord() (*machine.Word, error) {
	pid, err := agent.Running()
	if err != nil || pid == 0 {
		return nil, err
	}
	word, err := a.Word(a.Context())
	if errors.Is(err, machine.ErrSilent) {
		return &machine.Word{}, nil // it was said
	}
	return &word, err
}

// whyUnit says what holds one unit; word is that of agentsWord.
func (a statusVerbs) whyUnit(m *state.Model, unit model.UnitName, word *machine.Word) (why.Answer, error) {
	dir, err := agent.DataDir()
	if err != nil {
		return why.Answer{}, err
	}
	return a.whyWhere(a.Context(), m, dir, unit, word, a.Here(m, unit) == nil)
}

// whyWhere says what holds a unit whose agent works in dir; here: that is on this host.
func (a statusVerbs) whyWhere(ctx context.Context, m *state.Model, dir string, unit model.UnitName, word *machine.Word, here bool) (why.Answer, error) {
	now, err := a.now()
	if err != nil {
		return why.Answer{}, err
	}
	if !here {
		word = nil
	}
	f, err := why.Look(ctx, m, dir, unit, word, now)
	f.Elsewhere = !here
	return why.Say(f), err
}
