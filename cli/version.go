package cli

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/hooks"
)

func (a agentVerbs) versionCmd() *cobra.Command {
	var format, output string
	var all bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version that charms see, and what this program was built from",
		Long: `Show the version of the field's agent that charms are told (JUJU_VERSION), with
the platform. --all adds what this program was built from.`,
		Example: "  unitd version\n  unitd version --all --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			version := hooks.Version + "-genericlinux-" + runtime.GOARCH
			switch {
			case all && format != "json":
				return a.write("yaml", output, buildInfo(version))
			case all:
				return a.write("json", output, buildInfo(version))
			case format == "json":
				return a.write("json", output, version)
			case output != "":
				return a.writeFile(output, version+"\n")
			}
			a.printf("%s\n", version)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "show all that is known of the build")
	cmd.Flags().StringVar(&format, "format", "smart", "output format: smart, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "smart", "json", "yaml")
	return cmd
}

// buildInfo is what "version --all" shows. Source for the keys:
// docs/spec/cli-juju.md §4.
func buildInfo(version string) map[string]any {
	info := map[string]any{"version": version, "compiler": "gc"}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	info["unitd-version"] = agent.Version()
	info["go-version"] = build.GoVersion
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			info["git-commit"] = s.Value
		case "vcs.modified":
			info["git-tree-state"] = map[string]string{"true": "dirty", "false": "clean"}[s.Value]
		case "-tags":
			info["go-build-tags"] = s.Value
		}
	}
	return info
}
