package cli

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/render"
)

// Run carries out one command line, of which the first word is the name by which the
// program was called, and returns its exit code.
func Run(ctx context.Context, line []string, s Streams) int {
	args := line[1:]
	app := newProgram(ctx, filepath.Base(line[0]), s)
	defer app.close()
	root := app.root(args)
	root.SetArgs(asGoTest(withInterval(root, args)))
	root.SetIn(s.In)
	root.SetOut(printer{app.output})
	root.SetErr(s.Err)
	err := root.ExecuteContext(ctx)
	if failed := app.failed.Load(); err == nil && failed != nil {
		err = *failed
	}
	if err == nil {
		return Done
	}
	var exit Exit
	if errors.As(err, &exit) {
		return int(exit)
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		fmt.Fprintln(s.Err, "interrupted")
		return Interrupted
	}
	fmt.Fprintf(s.Err, "%s %s\n", app.paint(s.Err, render.BrightRed, "ERROR"), err)
	if errors.Is(err, ErrUsage) {
		return Wrong
	}
	return Failed
}

// asGoTest lets the flags of "test" be written with one dash too, as those of
// "go test" are.
func asGoTest(args []string) []string {
	out := slices.Clone(args)
	if len(out) == 0 || out[0] != "test" {
		return out
	}
	for i, arg := range out {
		name, _, _ := strings.Cut(strings.TrimPrefix(arg, "-"), "=")
		if slices.Contains([]string{"run", "parallel", "seed", "json", "junit", "update", "keep", "verbose"}, name) && strings.HasPrefix(arg, "-") && !strings.HasPrefix(arg, "--") {
			out[i] = "-" + arg
		}
	}
	return out
}

// root is the command line with all its verbs, for these arguments.
func (a *program) root(args []string) *cobra.Command {
	root := &cobra.Command{
		Use:   "unitd",
		Short: "Run charms on this machine, with no controller and no cloud",
		Long: `unitd deploys charms, runs their hooks in a guaranteed order, and relates them,
on this machine alone and with nothing to set up.`,
		Example: `  unitd up bundle.yaml
  unitd deploy ./my-charm
  unitd integrate my-charm:db postgresql
  unitd status --watch`,
		PersistentPreRunE:          a.begin,
		SilenceErrors:              true,
		SilenceUsage:               true,
		SuggestionsMinimumDistance: 2,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch version, _ := cmd.Flags().GetBool("version"); {
			case version:
				a.printf("%s\n", versionLine(a.Command()))
				return nil
			case len(args) > 0:
				return a.unknown(cmd, args[0])
			}
			return cmd.Help()
		},
		Args: cobra.ArbitraryArgs,
	}
	groups := a.groups()
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		if verb := verbOf(root, args, false); cmd == root && verb != "" && !has(groups, verb) {
			return a.unknown(cmd, verb)
		}
		return Usagef("%s", flagError(err))
	})
	root.PersistentFlags().StringVarP(&a.flag, "model", "m", "", "the model to work on, instead of the current one")
	root.PersistentFlags().StringVar(&a.StoreFlag, "store", "", "the store with the models, like etcd://host:2379/prefix, instead of the one in the data directory")
	declareGeneral(root)
	root.Flags().Bool("version", false, "show the version of this program, and the commit that it was built from")
	Add(root, groups, needed(groups, verbOf(root, args, true)))
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if words := cmd.Flags().Args(); cmd == root && len(words) > 0 {
			err := a.unknown(cmd, words[0])
			a.failed.CompareAndSwap(nil, &err)
			return
		}
		help(cmd, args)
	})
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetHelpCommandGroupID(ofAgent)
	root.InitDefaultHelpCmd()
	for _, cmd := range root.Commands() {
		if cmd.Name() == "help" {
			cmd.Example = "  unitd help deploy"
			cmd.Run, cmd.RunE = nil, a.helpOf(root, cmd.Run)
		}
	}
	return root
}

// helpOf is help about the command that the words name; about others there is none.
func (a *program) helpOf(root *cobra.Command, show func(*cobra.Command, []string)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, words []string) error {
		if found, _, err := root.Find(words); len(words) > 0 && (err != nil || found == root) {
			return a.unknown(root, words[0])
		}
		show(cmd, words)
		return nil
	}
}

// verbOf is the word among the arguments that should be a verb: the first that is
// neither a flag nor the value of one that all verbs have. Empty: there is none; or, if it
// has to be sure, another flag is before it, which may have a value.
func verbOf(root *cobra.Command, args []string, sure bool) string {
	flags := root.PersistentFlags()
	for i := 0; i < len(args); i++ {
		if len(args[i]) < 2 || args[i][0] != '-' {
			return args[i]
		}
		switch flag, whole := flagOf(flags, args[i]); {
		case args[i] == "--", flag == nil && sure:
			return ""
		case flag == nil:
		case flag.NoOptDefVal == "" && !whole:
			i++
		}
	}
	return ""
}

// flagOf is the flag that an argument names, or nil; whole: it has the value as well.
func flagOf(flags *pflag.FlagSet, arg string) (flag *pflag.Flag, whole bool) {
	if text, long := strings.CutPrefix(arg, "--"); long {
		name, _, whole := strings.Cut(text, "=")
		return flags.Lookup(name), whole
	}
	return flags.ShorthandLookup(arg[1:2]), len(arg) > 2
}

// unknown is the error of a command that there isn't: why, if Juju has it, or the
// nearest ones.
func (a *program) unknown(cmd *cobra.Command, name string) error {
	if why := absence(name); why != "" {
		return errors.NewNotSupported(nil, fmt.Sprintf("unitd has no %s: %s", name, why))
	}
	fmt.Fprintf(a.Err, "%s %q is not a unitd command. See \"unitd --help\".\n", a.paint(a.Err, render.BrightRed, "ERROR"), name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		fmt.Fprintf(a.Err, "\nDid you mean:\n\t%s\n", near[0])
	}
	return Exit(Wrong)
}

// flagError says what is wrong with a flag in the words that scripts for the
// field's own command line look for. Source: docs/spec/cli-juju.md §6.
func flagError(err error) string {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	dashes := func(name string) string {
		if len(name) == 1 {
			return "-" + name
		}
		return "--" + name
	}
	switch {
	case errors.As(err, &unknown):
		return "option provided but not defined: " + dashes(unknown.GetSpecifiedName())
	case errors.As(err, &missing):
		return "option needs an argument: " + dashes(missing.GetSpecifiedName())
	case errors.As(err, &invalid):
		return fmt.Sprintf("invalid value %q for option --%s: %v", invalid.GetValue(), invalid.GetFlag().Name, errors.Cause(invalid.Unwrap()))
	}
	return err.Error()
}
