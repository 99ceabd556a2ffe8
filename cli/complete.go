package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a agentVerbs) completionCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish",
		Short: "Print a script that makes a shell complete unitd's commands and names",
		Example: `  source <(unitd completion bash)
  unitd completion zsh > "${fpath[1]}/_unitd"
  unitd completion fish > ~/.config/fish/completions/unitd.fish`,
		Args:      Args(1, 1, "no shell specified: bash, zsh or fish"),
		ValidArgs: []string{"bash", "zsh", "fish"},
		RunE: func(cmd *cobra.Command, args []string) error {
			switch root := cmd.Root(); args[0] {
			case "bash":
				return root.GenBashCompletionV2(a.Out, true)
			case "zsh":
				return root.GenZshCompletion(a.Out)
			case "fish":
				return root.GenFishCompletion(a.Out, true)
			}
			return Usagef("unknown shell %q: bash, zsh and fish are known", args[0])
		},
	}
}

// completing is the status of the model in focus, for completing names. Where
// there is no store, none is made: a key pressed changes nothing.
func (f *focus) completing() *state.FullStatus {
	none := &state.FullStatus{}
	dir, err := agent.DataDirPath()
	if err != nil {
		return none
	}
	if !f.HasStore(dir) {
		return none
	}
	c, err := f.Open()
	if err != nil {
		return none
	}
	infos, err := c.Models(f.Context())
	if err != nil {
		return none
	}
	name, err := f.inFocus(infos)
	if err != nil {
		return none
	}
	m, err := c.Model(f.Context(), name)
	if err != nil {
		return none
	}
	s, err := m.Status(f.Context())
	if err != nil {
		return none
	}
	return s
}

// completer completes positional arguments of a command.
type completer = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective)

// completeWith completes what begins with the word, leaving out what has been
// given already.
func completeWith(names, args []string, word string, directive cobra.ShellCompDirective) ([]string, cobra.ShellCompDirective) {
	var out []string
	for _, name := range names {
		if strings.HasPrefix(name, word) && !slices.Contains(args, name) {
			out = append(out, name)
		}
	}
	return out, directive | cobra.ShellCompDirectiveNoFileComp
}

// completeApplications completes application names for the first most
// arguments; -1: for all.
func (f *focus) completeApplications(most int) completer {
	return func(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if most >= 0 && len(args) >= most {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeWith(applicationNames(f.completing()), args, word, 0)
	}
}

// completeOptions completes an application and then names of its options, which
// a "=" can follow.
func (f *focus) completeOptions(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	s := f.completing()
	if len(args) == 0 {
		return completeWith(applicationNames(s), args, word, 0)
	}
	var names []string
	for _, app := range s.Applications {
		if app.Name == args[0] {
			names = append(slices.Sorted(maps.Keys(app.CharmDoc.Charm.Options)), deploy.Options()...)
		}
	}
	return completeWith(names, args, word, cobra.ShellCompDirectiveNoSpace)
}

func applicationNames(s *state.FullStatus) []string {
	var names []string
	for _, app := range s.Applications {
		names = append(names, app.Name)
	}
	return names
}

// completeUnits completes unit names.
func (f *focus) completeUnits(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	return completeWith(unitNamesOf(f.completing()), args, word, 0)
}

func unitNamesOf(s *state.FullStatus) []string {
	var names []string
	for _, app := range s.Applications {
		for _, u := range app.Units {
			names = append(names, string(u.Name))
		}
	}
	return names
}

// completeEither completes names of applications and units.
func (f *focus) completeEither(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	s := f.completing()
	return completeWith(append(applicationNames(s), unitNamesOf(s)...), args, word, 0)
}

// completeEndpoints completes the two sides of a relation: application names
// and, after a colon, their endpoints. For the second side only those that can
// be related to the first.
func (f *focus) completeEndpoints(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) >= 2 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s := f.completing()
	var first []model.Endpoint
	if len(args) == 1 {
		name, endpoint, chosen := strings.Cut(args[0], ":")
		for _, e := range endpointsOf(s, name) {
			if !chosen || e.Name == endpoint {
				first = append(first, e)
			}
		}
	}
	var names []string
	for _, app := range s.Applications {
		whole := false
		for _, e := range app.Endpoints {
			if len(args) == 1 && !slices.ContainsFunc(first, e.CanRelate) || e.Role == model.Peer || e.Implicit() {
				continue
			}
			if strings.Contains(word, ":") {
				names = append(names, e.String())
			} else {
				whole = true
			}
		}
		if whole {
			names = append(names, app.Name)
		}
	}
	if len(names) == 0 && !strings.Contains(word, ":") {
		names = applicationNames(s)
	}
	return completeWith(names, args, word, 0)
}

func endpointsOf(s *state.FullStatus, name string) []model.Endpoint {
	for _, app := range s.Applications {
		if app.Name == name {
			return app.Endpoints
		}
	}
	return nil
}

// completeModels completes model names.
func (f *focus) completeModels(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 || f.completing().Model.Name == "" {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	infos, err := f.Opened().Models(f.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []string
	for _, info := range infos {
		names = append(names, info.Name)
	}
	return completeWith(names, args, word, 0)
}
