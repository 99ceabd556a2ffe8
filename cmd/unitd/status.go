package main

import (
	"bytes"
	"context"
	"slices"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state"
)

// statusFlags are the flags of status.
type statusFlags struct {
	format             string
	output             string
	relations, storage bool
	utc                bool
	color, noColor     bool
	watch              bool
}

func (a *app) statusCmd() *cobra.Command {
	var f statusFlags
	cmd := &cobra.Command{
		Use:   "status [APPLICATION | UNIT …]",
		Short: "Show the model: applications, units, machines, relations",
		Example: `  unitd status
  unitd status ledger --relations
  unitd status --format json
  unitd status --watch`,
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
	fs.BoolVar(&f.color, "color", false, "use colours even if this is not a terminal")
	fs.BoolVar(&f.noColor, "no-color", false, "use no colours")
	fs.BoolVar(&f.watch, "watch", false, "show it again at each change, until Ctrl-C")
	a.formats(cmd, "tabular", "json", "yaml", "short", "line", "oneline", "summary")
	return cmd
}

func (a *app) status(selectors []string, f statusFlags) error {
	if f.color && f.noColor {
		return usagef("--color and --no-color exclude each other")
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if !f.watch {
		s, err := m.Status(a.ctx)
		if err != nil {
			return err
		}
		return a.showStatus(s, selectors, f)
	}
	if err := a.watchStatus(m, selectors, f); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // Ctrl-C is how it ends
}

// watchStatus shows the status at each change until the context ends.
func (a *app) watchStatus(m *state.Model, selectors []string, f statusFlags) error {
	watch, err := m.Watch(a.ctx, 0)
	if err != nil {
		return err
	}
	for {
		s, err := m.Status(a.ctx)
		if err != nil {
			return err
		}
		if isTerminal(a.stdout) {
			a.printf("\x1b[H\x1b[2J")
		}
		if err := a.showStatus(s, selectors, f); err != nil {
			return err
		}
		if a.printErr.Load() != nil {
			return nil // nobody can see it any more
		}
		if _, more := <-watch; !more {
			return nil
		}
	}
}

func (a *app) showStatus(s *state.FullStatus, selectors []string, f statusFlags) error {
	all := len(s.Applications)
	selectStatus(s, selectors)
	if f.format == "json" || f.format == "yaml" {
		return a.write(f.format, f.output, statusTree(s, f.utc))
	}
	var text string
	switch f.format {
	case "tabular":
		colours := f.color || !f.noColor && f.output == "" && colourful(a.stdout)
		if !f.storage {
			s.Storage = nil
		}
		text = tabular(s, colours, f.relations, f.utc)
	case "summary":
		text = summary(s)
	default:
		text = short(s)
	}
	if f.output != "" {
		return a.writeFile(f.output, text)
	}
	a.printf("%s", text)
	switch {
	case all == 0 && len(s.Machines) == 0:
		a.note("\nModel %q is empty.", s.Model.Name)
	case len(selectors) > 0 && len(s.Applications) == 0:
		a.note("Nothing matched specified filter.")
	}
	return nil
}

// selectStatus leaves only what the selectors name: applications or units.
func selectStatus(s *state.FullStatus, selectors []string) {
	if len(selectors) == 0 {
		return
	}
	wanted := func(app, unit string) bool {
		for _, sel := range selectors {
			if sel == app || sel == unit {
				return true
			}
		}
		return false
	}
	machines := map[string]bool{}
	var apps []state.ApplicationView
	for _, app := range s.Applications {
		var units []state.UnitView
		for _, u := range app.Units {
			if wanted(app.Name, string(u.Name)) {
				units = append(units, u)
				machines[u.Machine] = true
			}
		}
		app.Units = units
		if len(units) > 0 || wanted(app.Name, "") {
			apps = append(apps, app)
		}
	}
	s.Applications = apps
	var left []state.MachineView
	for _, m := range s.Machines {
		if machines[m.ID] {
			left = append(left, m)
		}
	}
	s.Machines = left
	var rels []state.RelationDoc
	for _, r := range s.Relations {
		for _, e := range r.Endpoints {
			if wanted(e.Application, "") {
				rels = append(rels, r)
				break
			}
		}
	}
	s.Relations = rels
	s.Storage = slices.DeleteFunc(s.Storage, func(v state.StorageView) bool {
		return v.Unit == "" || !wanted(v.Unit.Application(), string(v.Unit))
	})
}

// short is a line for each unit.
func short(s *state.FullStatus) string {
	var b bytes.Buffer
	for _, app := range s.Applications {
		for _, u := range app.Units {
			b.WriteString("- " + string(u.Name) + ": " + u.Address + " (agent:" + u.Agent.Status + ", workload:" + u.Workload.Status + ")")
			if p := portList(u.Ports); p != "" {
				b.WriteString(" " + p)
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
