package cli

import (
	"bytes"
	"context"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// statusVerbs show what there is, and why.
type statusVerbs struct{ base }

// statusFlags are the flags of status.
type statusFlags struct {
	format             string
	output             string
	relations, storage bool
	utc                bool
	color, noColor     bool
	watch              watchFlag
}

func (a statusVerbs) statusCmd() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status [APPLICATION | UNIT | MACHINE | STATUS …]",
		Short: "Show the model: applications, units, machines, relations",
		Long: `Show the model, or what one of the words matches of it: an application, a unit
(also as APPLICATION/leader), units by a pattern ('ledger/*', '*/0'), a machine by
its id, its address or a subnet, units and machines in a status ("active", "idle",
"error"), applications that are exposed ("exposed", "not exposed"), units with an
open port ("8080/tcp", "8000-8100/tcp").`,
		Example: `  unitd status
  unitd status ledger --relations
  unitd status 0 blocked 'shop/*'
  unitd status --format json
  unitd status --watch
  unitd status --watch 5s`,
		ValidArgsFunction: a.completeEither,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.status(args, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.format, "format", "tabular", "output format: tabular, json, yaml, short or summary")
	fs.StringVarP(&f.output, "output", "o", "", "write to this file")
	fs.BoolVar(&f.relations, "relations", false, "show relations too")
	fs.BoolVar(&f.relations, "integrations", false, "the same as --relations")
	fs.BoolVar(&f.storage, "storage", false, "show storage too")
	fs.BoolVar(&f.utc, "utc", false, "show times in UTC")
	fs.Int("retry-count", 3, "noted: the store is read at once")
	fs.Duration("retry-delay", 100*time.Millisecond, "noted: the store is read at once")
	fs.BoolVar(&f.color, "color", false, "use colours even if this is not a terminal")
	fs.BoolVar(&f.noColor, "no-color", false, "use no colours")
	fs.Var(&f.watch, "watch", "show it again at each change, until Ctrl-C; with a duration, at least that often")
	fs.Lookup("watch").NoOptDefVal = watchAlways
	formats(cmd, "tabular", "json", "yaml", "short", "line", "oneline", "summary")
	return cmd
}

func (a statusVerbs) status(selectors []string, f statusFlags) error {
	if f.color && f.noColor {
		return Usagef("--color and --no-color exclude each other")
	}
	if text := os.Getenv(statusUTC); text != "" {
		utc, err := strconv.ParseBool(text)
		if err != nil {
			return errors.Errorf("invalid %s env var, expected true|false", statusUTC)
		}
		f.utc = f.utc || utc
	}
	a.noteAlways(f)
	if a.shown(selectors, f) {
		return nil
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if !f.watch.on {
		s, err := a.See(m)
		if err != nil {
			return err
		}
		return a.showStatus(m, s, selectors, f)
	}
	if err := a.watchStatus(m, selectors, f); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // Ctrl-C is how it ends
}

// statusUTC is the variable that stands for --utc.
const statusUTC = "JUJU_STATUS_ISO_TIME"

// noteAlways says which flags are for the table alone. Source: docs/spec/juju-clients.md §9.
func (a statusVerbs) noteAlways(f statusFlags) {
	var given []string
	if f.relations {
		given = append(given, "relations")
	}
	if f.storage {
		given = append(given, "storage")
	}
	switch {
	case f.format == "tabular" || len(given) == 0:
	case len(given) == 1:
		a.Note("provided %s option is always enabled in non tabular formats", given[0])
	default:
		a.Note("provided %s options are always enabled in non tabular formats", strings.Join(given, ", "))
	}
}

func (a statusVerbs) showStatus(m *state.Model, s *state.FullStatus, selectors []string, f statusFlags) error {
	all := len(s.Applications) + len(s.Machines) + len(s.SAAS) + len(s.Offers)
	render.SelectStatus(s, selectors)
	if len(s.Applications)+len(s.Machines) == 0 && (len(selectors) > 0 || all == 0) {
		defer a.noteEmpty(s, selectors, f, all == 0)
	}
	if f.format == "json" || f.format == "yaml" {
		return a.write(f.format, f.output, render.StatusTree(s, thisHost(), f.utc))
	}
	var text string
	switch f.format {
	case "tabular":
		colours := f.color || !f.noColor && f.output == "" && terminal.Colourful(a.Out)
		if !f.storage {
			s.Storage = nil
		}
		statusWithAuthors(s, a.sources(m))
		text = render.StatusTable(s, colours, f.relations, f.utc, a.lineWidth(f.output))
	case "summary":
		text = render.StatusSummary(s)
	default:
		text = short(s)
	}
	if f.output != "" {
		return a.writeFile(f.output, text)
	}
	a.printf("%s", text)
	return nil
}

// noteEmpty says why nothing is shown: the model is empty, or nothing matches.
func (a statusVerbs) noteEmpty(s *state.FullStatus, selectors []string, f statusFlags, empty bool) {
	switch {
	case empty && f.format != "json" && f.format != "yaml" && f.output == "":
		a.Note("\nModel %q is empty.", s.Model.Name)
	case len(selectors) == 1:
		a.Note("Nothing matched specified filter.")
	case len(selectors) > 1:
		a.Note("Nothing matched specified filters.")
	}
}

// short is a line for each unit.
func short(s *state.FullStatus) string {
	var b bytes.Buffer
	for _, app := range s.Applications {
		for _, u := range app.Units {
			b.WriteString("- " + string(u.Name) + ": " + u.Address + " (agent:" + u.Agent.Status + ", workload:" + u.Workload.Status + ")")
			if p := render.PortList(u.Ports); p != "" {
				b.WriteString(" " + p)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
