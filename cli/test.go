package cli

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// testVerbs try charms out: by scripts, recordings and packages.
type testVerbs struct{ deploying }

// testFlags are the flags of test.
type testFlags struct {
	run      string
	parallel int
	seed     uint64
	verbose  bool
	json     bool
	update   bool
	keep     bool
	junit    string
	report   string
	isolate  string
	commands bool
	watch    bool
}

func (a testVerbs) testCmd() *cobra.Command {
	var f testFlags
	cmd := &cobra.Command{
		Use:   "test [DIR | SCRIPT.txtar …]",
		Short: "Run scenario scripts of charms",
		Long: `Run scripts that deploy charms, relate them, let time pass, and say what has to
come of it: each in a private model with a real agent and a clock of its own, in
parallel. Without arguments those in the current directory are run.

Where the rights allow it, as root on Linux, each unit gets a machine of its own
on this host; --isolate=off, or UNITD_ISOLATE=off, has units share the host.

A script is a txtar file: commands first, then the files that they need. "unitd
test --commands" lists the commands.`,
		Example: `  unitd test ./tests
  unitd test tests/upgrade.txtar -v
  unitd test ./tests --isolate=off
  unitd test ./tests --run 'relation' --junit report.xml
  unitd test ./tests --report report.html
  unitd test ./tests --watch`,
		RunE: func(_ *cobra.Command, args []string) error {
			defer a.endWithTerminal()()
			return a.test(args, f)
		},
	}
	fs := cmd.Flags()
	fs.StringVar(&f.run, "run", "", "run only the scripts whose names match this regular expression")
	fs.IntVar(&f.parallel, "parallel", 0, "how many to run at once (0: as many as there are processors)")
	fs.Uint64Var(&f.seed, "seed", 0, "what to begin with for what is left to chance (0: something else each time)")
	fs.BoolVarP(&f.verbose, "verbose", "v", false, "show what scripts do that don't fail as well")
	fs.BoolVar(&f.json, "json", false, "print one JSON object for each script")
	fs.BoolVar(&f.update, "update", false, "rewrite the files in scripts that cmp finds different")
	fs.BoolVar(&f.keep, "keep", false, "leave the scripts' directories where they are")
	fs.StringVar(&f.isolate, "isolate", "", "isolate units, as deploy does, where a script doesn't say otherwise: "+strings.Join(model.SharedRootModes(), ", ")+" (on where the rights allow it)")
	fs.Lookup("isolate").NoOptDefVal = model.IsolateAuto
	fs.StringVar(&f.junit, "junit", "", "write a JUnit XML file, for CI")
	fs.StringVar(&f.report, "report", "", "write a page to this HTML file that shows each script's model as it was at its end")
	fs.BoolVar(&f.watch, "watch", false, "run again what a change touches, until Ctrl-C")
	fs.BoolVar(&f.commands, "commands", false, "list the commands of scripts")
	return cmd
}

func (a testVerbs) test(args []string, f testFlags) error {
	if f.commands {
		for _, c := range script.Commands() {
			a.printf("%-16s %s\n%-16s   %s\n", c.Name, c.Args, "", c.Summary)
		}
		return nil
	}
	s, err := a.suite(args, f)
	if err != nil {
		return err
	}
	s.Progress = a.progress()
	if f.watch {
		if f.junit != "" || f.report != "" || f.update {
			return Usagef("--watch has no end at which --junit or --report could write, and doesn't go with --update")
		}
		return a.watchScripts(s, args, f)
	}
	var kept pages
	if f.report != "" {
		s.Seen = kept.see
	}
	outcomes, err := s.Run(a.Context())
	if err != nil {
		return err
	}
	if f.junit != "" {
		if err := script.WriteJUnit(f.junit, outcomes); err != nil {
			return err
		}
	}
	if !f.json {
		a.printf("%s\n", counted(outcomes))
	}
	if f.report != "" {
		missing, err := kept.write(f.report, outcomes)
		if err != nil {
			return err
		}
		if missing != nil {
			a.Note("WARNING the page lacks something: %v", missing)
		}
	}
	switch {
	case a.Context().Err() != nil:
		return errors.Trace(a.Context().Err())
	case slices.ContainsFunc(outcomes, func(o script.Outcome) bool { return o.Outcome == script.Failed }):
		return Exit(Failed)
	}
	return nil
}

// counted says how many scripts had which outcome.
func counted(outcomes []script.Outcome) string {
	count := map[string]int{}
	for _, o := range outcomes {
		count[o.Outcome]++
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", count[script.Passed], count[script.Failed], count[script.Skipped])
}

// findScripts are the scripts that arguments name, those of this directory without any.
func findScripts(args []string) ([]string, error) {
	if len(args) == 0 {
		args = []string{"."}
	}
	var all []string
	for _, arg := range args {
		files, err := script.Find(arg)
		if err != nil {
			return nil, err
		}
		all = append(all, files...)
	}
	return all, nil
}

func (a testVerbs) suite(args []string, f testFlags) (*script.Suite, error) {
	s := &script.Suite{Parallel: f.parallel, Verbose: f.verbose, JSON: f.json, Out: a.Out}
	s.Seed, s.Update, s.Keep = f.seed, f.update, f.keep
	var err error
	if s.Files, err = findScripts(args); err != nil {
		return nil, err
	}
	if f.run != "" {
		if s.Match, err = regexp.Compile(f.run); err != nil {
			return nil, Usagef("--run: %v", err)
		}
	}
	dir, err := agent.DataDirPath() // scripts leave nothing in it, so it isn't made
	if err != nil {
		return nil, err
	}
	if s.Unitd, err = agent.StableSelf(dir); err != nil {
		return nil, fmt.Errorf("cannot run scripts: %w", err)
	}
	s.Bases = bases.Here(dir).Dir
	s.Isolate, err = a.isolateScripts(dir, f)
	return s, err
}

// checkScripts says whether the units of scripts can be isolated so. The charms of a script
// say which base each machine is on; one that does is enough here.
func (a testVerbs) checkScripts(dir string, i model.Isolation, without string) error {
	if i.Mode != model.IsolateMachine {
		return a.CheckIsolationIn(dir, os.TempDir(), i, without)
	}
	roots, err := a.Roots(os.TempDir())
	if err != nil {
		return err
	}
	return errors.Annotate(roots.Any(), "units can't have systemd here")
}

// isolateScripts is the mode in which scripts isolate that don't say it
// themselves. Their worlds are where temporary files are.
func (a testVerbs) isolateScripts(dir string, f testFlags) (string, error) {
	i, err := deploy.Isolate{Mode: f.isolate}.Isolation()
	if err != nil {
		return "", err
	}
	if (deploy.Isolate{Mode: f.isolate}).Told() {
		return cmp.Or(i.Mode, model.IsolateOff), a.checkScripts(dir, i, deploy.Without(false))
	}
	i, why := a.WhereAllowed(dir, os.TempDir())
	if f.verbose && why != "" {
		a.Note("%s", why)
	}
	return cmp.Or(i.Mode, model.IsolateOff), errors.Trace(a.Context().Err())
}
