package cli

import (
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/terminal"
)

// profiles are what debug-agent can ask for; those with true take time.
var profiles = map[string]bool{
	"allocs": false, "block": false, "goroutine": false, "heap": false, "mutex": false, "threadcreate": false,
	"profile": true, "trace": true,
}

func (a agentVerbs) debugAgentCmd() *cobra.Command {
	var output string
	var seconds int
	cmd := &cobra.Command{
		Use:   "debug-agent [PROFILE]",
		Short: "Show what the agent is doing inside, if it runs with --debug",
		Long: `Show where all goroutines of the agent are, as text; or write a profile of it, for
"go tool pprof" (for trace, "go tool trace"). The profiles are ` + strings.Join(profileNames(), ", ") + `.
The agent must have been started as "unitd agent --debug": it then has a socket in
the data directory that only its user can connect to.`,
		Example: `  unitd debug-agent
  unitd debug-agent heap -o heap.pprof
  unitd debug-agent profile --seconds 30 -o cpu.pprof && go tool pprof cpu.pprof`,
		Args:      Args(0, 1, ""),
		ValidArgs: profileNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			timed, known := profiles[name]
			switch {
			case name != "" && !known:
				return Usagef("there is no profile %q: there are %s", name, strings.Join(profileNames(), ", "))
			case seconds != 0 && !timed:
				return Usagef("--seconds is for profile and trace")
			case seconds < 0:
				return Usagef("--seconds must be a positive number, got %d", seconds)
			case name != "" && output == "" && terminal.Is(a.Out):
				return Usagef("a profile isn't text: name a file for it with -o")
			}
			query := url.Values{}
			if name == "" {
				name = "goroutine"
				query.Set("debug", "2")
			}
			if seconds > 0 {
				query.Set("seconds", strconv.Itoa(seconds))
			}
			return a.debugAgent(name+"?"+query.Encode(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write (standard output)")
	cmd.Flags().IntVar(&seconds, "seconds", 0, "how long profile (30) and trace (1) look")
	return cmd
}

func profileNames() []string {
	var out []string
	for name := range profiles {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// debugAgent asks the agent for a page of pprof and writes it.
func (a agentVerbs) debugAgent(page, output string) error {
	profile, err := a.AskDebug(page)
	if err != nil {
		return err
	}
	defer profile.Close()
	if output == "" {
		_, err = io.Copy(a.Out, profile)
		return errors.Annotate(err, "cannot read what the agent says")
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot write the profile")
	}
	_, err = io.Copy(f, profile)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return errors.Annotate(err, "cannot write the profile")
}
