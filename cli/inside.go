package cli

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pebble"
)

// CharmContainer is what the place where a unit's hooks run is called where there
// are containers beside it. Source: docs/spec/containers.md §7.4.
const CharmContainer = "charm"

// Inside is what verbs need that lead inside of units.
type Inside struct {
	Streams
	// DropIn: the program was called as juju, so words mean what they mean to Juju's
	// ssh and scp, also where unitd has another meaning for them. Source:
	// docs/spec/juju-clients.md §5.2.
	DropIn bool
	// Unit finds a unit of this host by "NAME" or "APP/leader", or by the id of its
	// machine. The error says what is wrong with it, or on which host it is.
	Unit func(ctx context.Context, name string) (Unit, error)
	// Remote finds, by the same names, what is on another host and reached by the agent
	// there; nil: that isn't so.
	Remote func(ctx context.Context, name string) (*Remote, error)
	// Names are those of the model's units, and Containers those of a unit's
	// containers; without an answer there are none. They are for completion.
	Names      func() []string
	Containers func(unit string) []string
}

// Unit leads to a unit of this host.
type Unit struct {
	Name model.UnitName
	// Containers are the names of the workload containers of its charm, in order.
	// None: it is the unit of another charm.
	Containers []string
	// Address is that of the host of a unit elsewhere, which OpenSSH can lead to; then
	// there are none of the doors. Empty: it is on this host.
	Address string
	// Shell is a shell with these arguments where the unit's hooks run, as a user of
	// that place; as the place's own where there is no such. The error says in a line
	// what is wrong.
	Shell func(user string, arguments ...string) (*exec.Cmd, error)
	// Files are those that its hooks see.
	Files func() (Place, error)
	// Workload has the files of a workload container. The error is NotFound where it
	// doesn't run.
	Workload func(container string) (Place, error)
	// Pebble is that of a workload container.
	Pebble func(container string) *pebble.Client
	// Printed is the end of what that Pebble itself has printed, of so many lines;
	// negative: all that is kept.
	Printed func(container string, lines int) (string, error)
	// Journal reads the journal of the unit's machine, with arguments of journalctl.
	Journal func(arguments ...string) (*exec.Cmd, error)
}

// defaultUser is whom Juju logs in as on machines.
const defaultUser = "ubuntu"

// user is as whom words mean to be in a unit; empty: as whom its hooks run. Containers
// have users of their own, whom their Pebble knows.
func (d Inside) user(u Unit, named string) string {
	switch {
	case len(u.Containers) > 0:
		return ""
	case d.DropIn:
		return cmp.Or(named, defaultUser)
	}
	return named
}

// pick is the workload container that is meant by a name, or empty for where the
// unit's hooks run. A unit without containers takes any name, as Juju does.
// Source: docs/spec/containers.md §7.4; docs/spec/juju-clients.md §5.2.
func (u Unit) pick(s Streams, name string) (container string, err error) {
	switch {
	case name == "" || len(u.Containers) > 0 && name == CharmContainer:
		return "", nil
	case len(u.Containers) == 0:
		s.note("%s has no containers: --container is ignored", u.Name)
		return "", nil
	case !slices.Contains(u.Containers, name):
		return "", NoContainer(name, u.Containers)
	}
	return name, nil
}

// NoContainer is the error of a container that a charm hasn't got; has are those
// that it has. Source: docs/spec/containers.md §7.4.
func NoContainer(name string, has []string) error {
	return errors.NewNotFound(nil, fmt.Sprintf("container %q must be one of %s", name, strings.Join(append([]string{CharmContainer}, has...), ", ")))
}

// notReady is the error of a container that can't be used yet, or not any more.
// Source: docs/spec/containers.md §7.4.
func (u Unit) notReady(container string) error {
	return errors.NewNotFound(nil, fmt.Sprintf("container %q for unit %q is not ready yet: \"unitd why %s\" says what it waits for", container, u.Name, u.Name))
}

// asked is what a person is told of an error of a container's Pebble.
func (u Unit) asked(ctx context.Context, container string, err error) error {
	var refused *pebble.APIError
	switch {
	case err == nil, ctx.Err() != nil:
		return errors.Trace(err)
	case errors.Is(err, pebble.ErrNotThere):
		return u.notReady(container)
	case errors.Is(err, pebble.ErrBroken):
		return errors.Errorf("container %q of %s has ended", container, u.Name)
	case errors.Is(err, pebble.ErrNoAnswer), errors.Is(err, pebble.ErrGarbage):
		return errors.Errorf("container %q of %s: %v", container, u.Name, errors.Cause(err))
	case errors.As(err, &refused):
		return errors.Errorf("container %q of %s: %s", container, u.Name, refused.Message)
	}
	return errors.Trace(err)
}

// completeTarget completes the name of a unit as the first argument.
func (d Inside) completeTarget(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveDefault
	}
	return beginning(d.Names(), word), cobra.ShellCompDirectiveNoFileComp
}

// completeContainer completes the value of --container: of the unit that is named
// already, else of all units.
func (d Inside) completeContainer(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	units := d.Names()
	if len(args) > 0 {
		name, _, _ := strings.Cut(args[0], ":")
		units = []string{name}
	}
	names := []string{CharmContainer}
	for _, unit := range units {
		for _, name := range d.Containers(unit) {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return beginning(names, word), cobra.ShellCompDirectiveNoFileComp
}

// flags are those that ssh and scp have in common. What has no meaning here is
// taken, as tests that are written for Juju give it.
func (d Inside) flags(cmd *cobra.Command, container *string) {
	f := cmd.Flags()
	f.SetInterspersed(false)
	f.StringVar(container, "container", "", "the container to enter, if the unit has some (charm)")
	for _, name := range []string{"no-host-key-checks", "proxy", "remote"} {
		f.Bool(name, false, "")
		f.Lookup(name).Hidden = true
	}
	_ = cmd.RegisterFlagCompletionFunc("container", d.completeContainer)
}

func beginning(names []string, word string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasPrefix(name, word) })
}
