package cli

import (
	"fmt"
	"runtime"
	"strings"

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
			version := charmsVersion()
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
	build := agent.Built()
	info := map[string]any{"version": version, "compiler": "gc", "unitd-version": build.Version}
	for key, value := range map[string]string{"go-version": build.Go, "git-commit": build.Commit, "go-build-tags": build.Tags} {
		if value != "" {
			info[key] = value
		}
	}
	if build.Modified != nil {
		info["git-tree-state"] = map[bool]string{true: "dirty", false: "clean"}[*build.Modified]
	}
	return info
}

// versionLine is what --version prints: what this program was built from; or, where it
// was called by the name of the field's program, what that prints.
func versionLine(command string) string {
	build := agent.Built()
	switch {
	case command == jujuName:
		return charmsVersion()
	case build.Commit == "" || strings.HasSuffix(build.Version, build.Commit):
		return "unitd " + build.Version
	}
	return fmt.Sprintf("unitd %s, commit %s", build.Version, build.Commit)
}

// charmsVersion is the version of the field's agent that charms are told, with the
// platform.
func charmsVersion() string { return hooks.Version + "-genericlinux-" + runtime.GOARCH }

// Names are what this program is called: its own name, and that by which clients of
// Juju call it. Source: docs/spec/cli-juju.md §0.
func Names() []string { return []string{ownName, jujuName} }

const (
	ownName  = "unitd"
	jujuName = "juju"
)
