package cli

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
)

// spaceVerbs are about spaces: there is one network, which all units are in. Source:
// docs/spec/juju-clients.md §8.
type spaceVerbs struct{ base }

// oneNetwork is what help says of all of them.
const oneNetwork = `
There is one network, and the space alpha holds it. Other spaces are recorded, so that
endpoints can be bound to them, but they hold no subnet: nothing comes of it.`

func (a spaceVerbs) spacesCmd() *cobra.Command {
	var format, output string
	var short bool
	cmd := &cobra.Command{
		Use:     "spaces",
		Aliases: []string{"list-spaces"},
		Short:   "List the spaces of the model, and their subnets",
		Long:    "List the spaces of the model, and their subnets.\n" + oneNetwork,
		Example: "  unitd spaces\n  unitd spaces --short --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			net, err := a.network()
			if err != nil {
				return err
			}
			switch {
			case format != "tabular":
				return a.write(format, output, net.SpacesTree(short))
			case short:
				return a.text(output, net.SpaceNames())
			}
			return a.text(output, net.SpacesTable())
		},
	}
	cmd.Flags().BoolVar(&short, "short", false, "show the names alone")
	cmd.Flags().StringVar(&format, "format", "tabular", "output format: tabular, yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "tabular", "yaml", "json")
	return cmd
}

func (a spaceVerbs) showSpaceCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "show-space NAME",
		Short:   "Show a space: its subnets, and the applications that are bound to it",
		Long:    "Show a space: its subnets, the applications that are bound to it, and how many machines are in it.\n" + oneNetwork,
		Example: "  unitd show-space alpha\n  unitd show-space alpha --format json",
		Args:    Args(1, 1, "space name is required"),
		RunE: func(_ *cobra.Command, args []string) error {
			net, err := a.network()
			if err != nil {
				return err
			}
			t, ok := net.SpaceTree(args[0])
			if !ok {
				return errors.NewNotFound(nil, fmt.Sprintf("cannot retrieve space %q: space %[1]q not found", args[0]))
			}
			return a.write(format, output, t)
		},
	}
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

func (a spaceVerbs) addSpaceCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "add-space NAME [CIDR …]",
		Short:   "Record a space",
		Long:    "Record a space. Subnets stay where they are.\n" + oneNetwork,
		Example: "  unitd add-space inner",
		Args:    Args(1, -1, "space name is required"),
		RunE: func(_ *cobra.Command, args []string) error {
			name, subnets := args[0], args[1:]
			if !model.ValidSpace(name) {
				return Usagef("%q is not a valid space name", name)
			}
			for _, s := range subnets {
				if _, err := netip.ParsePrefix(s); err != nil {
					return Usagef("%q is not a valid CIDR", s)
				}
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			if err := m.AddSpace(a.Context(), name); err != nil {
				return errors.Annotatef(err, "cannot add space %q", name)
			}
			if len(subnets) == 0 {
				a.Note("added space %q with no subnets", name)
				return nil
			}
			a.Note("added space %q with subnets %s", name, strings.Join(subnets, ", "))
			a.ignores("the subnets of spaces")
			return nil
		},
	}
}

func (a spaceVerbs) reloadSpacesCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "reload-spaces",
		Short:   "Do nothing: no cloud has spaces to be read anew",
		Long:    "Do nothing: no cloud has spaces that could be read anew.\n" + oneNetwork,
		Example: "  unitd reload-spaces",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			_, err := a.model()
			return err
		},
	}
}

func (a spaceVerbs) subnetsCmd() *cobra.Command {
	var format, output, space, zone string
	cmd := &cobra.Command{
		Use:     "subnets",
		Aliases: []string{"list-subnets"},
		Short:   "List the subnets that units are in",
		Long:    "List the subnets that units are in.\n" + oneNetwork,
		Example: "  unitd subnets\n  unitd subnets --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			net, err := a.network()
			if err != nil {
				return err
			}
			t, some := net.SubnetsTree(space, zone)
			if !some {
				a.Note("No subnets to display.")
				return nil
			}
			return a.write(format, output, t)
		},
	}
	cmd.Flags().StringVar(&space, "space", "", "those of this space")
	cmd.Flags().StringVar(&zone, "zone", "", "those of this zone")
	cmd.Flags().StringVar(&format, "format", "yaml", "output format: yaml or json")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	formats(cmd, "yaml", "json")
	return cmd
}

// network is the model's network as people see it.
func (a spaceVerbs) network() (render.Network, error) {
	m, err := a.model()
	if err != nil {
		return render.Network{}, err
	}
	s, err := m.Status(a.Context())
	if err != nil {
		return render.Network{}, err
	}
	spaces, err := m.Spaces(a.Context())
	return render.Network{Status: s, Spaces: spaces}, err
}

func (a spaceVerbs) bindCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "bind APPLICATION [SPACE] [ENDPOINT=SPACE …]",
		Short: "Bind endpoints of an application to spaces",
		Long: `Bind endpoints of an application to spaces. A SPACE without an endpoint is the
application's default: endpoints that were bound to the former default go with it.
` + oneNetwork,
		Example:           "  unitd bind shop alpha\n  unitd bind shop inner store=alpha",
		ValidArgsFunction: a.completeApplications(1),
		Args: func(_ *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return Usagef("no application specified")
			case !model.ValidApplication(args[0]):
				return Usagef("invalid application name %q", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return errors.New("no bindings specified")
			}
			others, err := model.ParseBindings(args[1:]...)
			if err != nil {
				return Usagef("%v", err)
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			log, err := m.Bind(a.Context(), args[0], others)
			if err != nil {
				return err
			}
			for _, line := range log {
				a.Note("%s", line)
			}
			a.recordsBindings(others)
			return nil
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "noted: all machines are in the one network")
	return cmd
}

// recordsBindings says of bindings to other spaces than that of the network that
// nothing comes of them.
func (a base) recordsBindings(bound model.Bindings) {
	if elsewhere := bound.Elsewhere(); len(elsewhere) > 0 {
		a.records("bindings to other spaces than " + model.AlphaSpace)
	}
}
