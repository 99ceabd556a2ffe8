package cli

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
)

// declareGeneral declares the flags that every verb takes. Source:
// docs/spec/juju-clients.md §0.
func declareGeneral(root *cobra.Command) {
	fs := root.PersistentFlags()
	fs.StringP(controllerOption, "c", "", "the controller to work on, instead of the current one")
	fs.Bool("quiet", false, "say nothing beside the result")
	fs.BoolP(noBrowserFlag, "B", false, "noted: nobody logs in here")
	_ = fs.MarkHidden(noBrowserFlag)
}

const (
	controllerOption = "controller"
	noBrowserFlag    = "no-browser-login"
)

// begin is what comes before every verb.
func (a *program) begin(cmd *cobra.Command, args []string) error {
	if f := cmd.Flags().Lookup(noBrowserFlag); f != nil && f.Changed && (cmd.Name() == "ssh" || cmd.Name() == "scp") {
		return Usagef("option provided but not defined: -B")
	}
	quiet, err := cmd.Flags().GetBool("quiet")
	a.Quiet, a.output.Streams.Quiet = quiet && err == nil, quiet && err == nil
	if err := a.chooseController(cmd); err != nil {
		return err
	}
	a.authored(cmd, args)
	return a.ClearForeground()
}

// ofOneDirectory are verbs about the agent of the data directory itself: they work on
// another controller only where the command line says so, as a service does that runs
// one of them whatever a person chooses meanwhile.
func ofOneDirectory() []string {
	return []string{"agent", "shutdown", "debug-agent", "lab", benchAgent, "store", "store-user", "cache"}
}

// chooseController has the command work on the controller that it is about: that of
// --controller, of the model's reference, of the environment, or the current one.
// Source: docs/spec/juju-clients.md §0, §3.5.
func (a *program) chooseController(cmd *cobra.Command) error {
	if _, inLab, err := agent.LabTime(); err != nil || inLab {
		return err // the world of a script has one
	}
	name := ""
	if f := cmd.Flags().Lookup(controllerOption); f != nil {
		name = f.Value.String()
	}
	for verb := cmd; verb.HasParent() && name == ""; verb = verb.Parent() {
		if slices.Contains(ofOneDirectory(), verb.Name()) {
			return nil
		}
	}
	if of, _, named := strings.Cut(a.modelNamed(), ":"); named {
		name = cmp.Or(name, of)
	}
	name = cmp.Or(name, os.Getenv("UNITD_CONTROLLER"), os.Getenv("JUJU_CONTROLLER"))
	if name != "" {
		return a.WorkOn(name)
	}
	chosen, err := agent.ControllerChosen()
	if err != nil {
		return nil // no data directory can be told: verbs that need one say so
	}
	if err := a.WorkOn(chosen); errors.Is(err, errors.NotFound) {
		return errors.NewNotFound(nil, err.Error()+`; it is the current one: choose another one with "unitd switch CONTROLLER"`)
	} else if err != nil {
		return err
	}
	return nil
}

// follow has the command work on the controller that the reference of a model names, if
// it names one.
func (f *focus) follow(ref string) error {
	if of, _, named := strings.Cut(ref, ":"); named && of != "" {
		return f.WorkOn(of)
	}
	return nil
}
