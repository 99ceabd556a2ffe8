package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/state"
)

// execContainer says in which workload container commands are to be run, and how.
type execContainer struct {
	operator bool // as everywhere
	state.InContainer
	environment []string
}

func (c *execContainer) declare(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&c.Container, "container", "", "run the commands in this workload container")
	fs.StringVar(&c.User, "user", "", "run as this USER or USER:GROUP of the container, by name or number")
	fs.StringArrayVar(&c.environment, "env", nil, "set a variable, NAME=VALUE, in addition to the container's environment; may be repeated")
	fs.BoolVar(&c.operator, "operator", false, "")
	fs.Lookup("operator").Hidden = true
}

// parse takes the words of the commands, of which one is a script, or a path.
func (c *execContainer) parse(on execTargets, args []string) error {
	if c.Container == CharmContainer {
		c.Container = "" // where hooks run
	}
	switch {
	case c.Container == "" && (c.User != "" || len(c.environment) > 0):
		return Usagef("--user and --env are for commands in a workload container: name it by --container")
	case c.Container != "" && len(on.machines) > 0:
		return Usagef("--machine and --container exclude each other")
	}
	for _, e := range c.environment {
		name, value, ok := strings.Cut(e, "=")
		if !ok || name == "" {
			return Usagef("invalid value %q for option --env: it must be NAME=VALUE", e)
		}
		if c.Environment == nil {
			c.Environment = map[string]string{}
		}
		c.Environment[name] = value
	}
	if c.Container != "" {
		c.Words = Program(args)
	}
	return nil
}

// task is what the unit's agent is told; nil: nothing.
func (c execContainer) task() *state.InContainer {
	if c.Container == "" {
		return nil
	}
	return &c.InContainer
}

// checkContainers says whether the units' charms have the container. Source:
// docs/spec/containers.md §7.4.
func (a taskVerbs) checkContainers(m *state.Model, units []string, c execContainer) error {
	if c.Container == "" && !c.operator {
		return nil
	}
	for _, unit := range units {
		name, _, _ := strings.Cut(unit, "/")
		app, err := m.Application(a.Context(), name)
		if err != nil {
			return err
		}
		charm, err := m.Charm(a.Context(), app.Charm)
		if err != nil {
			return err
		}
		has := charm.Charm.ContainerNames()
		switch {
		case len(has) == 0 && c.operator:
			return errors.New("only k8s models support the --operator flag")
		case c.Container == "":
		case len(has) == 0:
			return errors.NewNotFound(nil, fmt.Sprintf("%s has no containers", unit))
		case !slices.Contains(has, c.Container):
			return NoContainer(c.Container, has)
		}
	}
	return nil
}
