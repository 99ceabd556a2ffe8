package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// declareIsolation gives a command the flags by which units are isolated.
func declareIsolation(cmd *cobra.Command, f *deploy.Isolate) {
	fs := cmd.Flags()
	fs.StringVar(&f.Mode, "isolate", "", "give each unit a machine of its own on this host: "+strings.Join(model.IsolationModes(), ", "))
	fs.Lookup("isolate").NoOptDefVal = model.IsolateOn
	fs.StringVar(&f.Root, "isolate-root", "", "the directory, or the base of this host, that isolated units have as their root (the host's root)")
	fs.StringVar(&f.OS, "isolate-os", "", "the system that isolated units are told they are on: "+strings.Join(isolate.Systems(), ", "))
}

// isolatePlan has the applications of a plan isolated as the flags say, or the model.
func (a charmVerbs) isolatePlan(m *state.Model, p *bundle.Plan, f deploy.Isolate) (err error) {
	if p.Asked, err = a.OfModel(m, f); err != nil {
		return err
	}
	if p.Isolation, err = p.Asked.Isolation(); err != nil {
		return err
	}
	return a.CheckIsolation(p.Asked, p.Isolation, false)
}
