package cli

import (
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bench"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/terminal"
)

// benchVerbs measure what unitd costs.
type benchVerbs struct{ base }

// benchAgent is the verb of the agent that is measured.
const benchAgent = "bench-agent"

func (a benchVerbs) benchCmd() *cobra.Command {
	var o bench.Options
	var format, output string
	cmd := &cobra.Command{
		Use:   "bench",
		Short: "Measure what unitd costs on this machine",
		Long: `Measure what unitd costs here. Each figure has its floor below it: the cost that
can't be avoided. Both are medians of one run, measured in turn, so their ratio
means something even on a machine that has other work to do. The figures are

  tool    a hook tool call
  hook    a hook that does nothing, by the whole agent
  crowd   units of a charm that does nothing, from the deployment until all is
          settled, and the agent's processor time per hook
  peers   a unit that joins a peer relation with many members, until it has been
          told of each, and the agent's processor time per hook
  commit  a commit of the store

Private agents run for this, with models in a temporary directory that is removed
afterwards; your own models aren't touched. What a durable write costs depends on
the disk of that directory. Set TMPDIR to use another one.`,
		Example: `  unitd bench
  unitd bench --only hook,commit --count 1000
  unitd bench --only crowd --units 500 --format json`,
		Args: Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			defer a.endWithTerminal()()
			return a.bench(o, format, output)
		},
	}
	fs := cmd.Flags()
	fs.StringSliceVar(&o.Only, "only", nil, "measure only these figures: "+strings.Join(bench.Names(), ", "))
	fs.IntVarP(&o.Units, "units", "n", 100, "how many units a crowd has, and how many peers a unit joins")
	fs.IntVar(&o.Count, "count", 200, "how often a call, a hook and a commit are measured")
	fs.IntVar(&o.Rounds, "rounds", 3, "how often a crowd and a unit that joins its peers are measured")
	fs.StringVar(&format, "format", "tabular", "how to print the result: tabular, json, yaml")
	fs.StringVarP(&output, "output", "o", "", "write the result to this file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a benchVerbs) bench(o bench.Options, format, output string) error {
	self, err := os.Executable()
	if err != nil {
		return errors.Annotate(err, "cannot find this program")
	}
	o.Store = agent.StoreFile
	o.Agent = func(dir string) *exec.Cmd {
		cmd := exec.Command(self, benchAgent)
		cmd.Env = agent.Alone(dir)
		return cmd
	}
	line := terminal.NewLine(a.Err)
	o.Progress = func(name string, done, of int) { line.Show(name, fmt.Sprintf("%d/%d", done, of)) }
	r, err := bench.Run(a.Context(), o)
	line.Clear()
	switch {
	case errors.Is(err, errors.NotValid):
		return Usagef("%s", err)
	case err != nil:
		return err
	case format == "tabular":
		return a.text(output, render.BenchText(r, agent.Version()))
	}
	return a.write(format, output, render.BenchTree(r, agent.Version()))
}

// benchAgentCmd is the agent that is measured; see package bench.
func (a benchVerbs) benchAgentCmd() *cobra.Command {
	return &cobra.Command{
		Use:     benchAgent,
		Short:   "Run the agent that bench measures",
		Example: "  UNITD_DATA=$(mktemp -d) unitd bench-agent </dev/null",
		Hidden:  true,
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			lock, err := agent.TakeLock()
			if err != nil {
				return err
			}
			defer a.Release(lock)
			c, err := a.Config()
			if err != nil {
				return err
			}
			return bench.Serve(a.Context(), c, a.In, a.Out, agent.Run)
		},
	}
}
