package cli

import (
	"fmt"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/render"
)

// baseVerbs look after the systems that machines are on.
type baseVerbs struct{ base }

func (a baseVerbs) baseCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "base",
		Short: "List, fetch, add and remove the systems that machines with systemd are on",
		Long: `Look after the bases of this host: root directories with a system in them, such as
debian@12, for units that are deployed with --isolate=machine. All units on a base
share it. What they change is kept apart.`,
		Example: "  unitd base fetch debian@12\n  unitd deploy ./site --isolate=machine --isolate-root debian@12",
		Args:    Args(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.baseListCmd(), a.baseFetchCmd(), a.baseAddCmd(), a.baseRemoveCmd())
	return cmd
}

// bases are those of this host.
func (a baseVerbs) bases() (bases.Store, error) {
	dir, err := agent.DataDir()
	return bases.Here(dir), err
}

func (a baseVerbs) baseListCmd() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the bases of this host",
		Example: "  unitd base list\n  unitd base list --format json",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.bases()
			if err != nil {
				return err
			}
			all, err := s.List()
			if err != nil {
				return err
			}
			if format != "tabular" {
				return a.write(format, output, all)
			}
			rows := [][]render.Cell{render.Heads("Base", "Made", "Source", "Root")}
			for _, b := range all {
				rows = append(rows, []render.Cell{{Text: b.Name}, {Text: b.Made}, {Text: b.Source}, {Text: b.Root}})
			}
			return a.table(output, rows)
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
}

func (a baseVerbs) baseFetchCmd() *cobra.Command {
	var from bases.Fetched
	var verbose bool
	cmd := &cobra.Command{
		Use:   "fetch BASE",
		Short: "Make a base from a distribution's archive",
		Long: `Make a base with debootstrap, which must be installed: debian@11 to debian@13, and
ubuntu@20.04 to ubuntu@24.04. It needs root. The base has systemd, python3, sudo, and
a user "ubuntu" who may become root, as images of clouds do.`,
		Example: "  unitd base fetch debian@12\n  unitd base fetch ubuntu@24.04 --apt-mirror http://archive.example.com/ubuntu",
		Args:    Args(1, 1, "name the base: unitd base fetch debian@12"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.bases()
			if err != nil {
				return err
			}
			if verbose {
				from.Progress = a.Err
			}
			b, err := s.Fetch(a.Context(), args[0], from)
			return a.madeBase(b, err)
		},
	}
	cmd.Flags().StringVar(&from.Mirror, "apt-mirror", "", "the archive to fetch from, and that the base uses")
	cmd.Flags().StringVar(&from.Proxy, "proxy", "", "the proxy for HTTP, now and in the base")
	cmd.Flags().BoolVarP(&verbose, "verbose", "v", false, "show what debootstrap prints")
	return cmd
}

func (a baseVerbs) baseAddCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "add BASE FILE",
		Short: "Make a base from a directory or a tarball",
		Long: `Make a base from a directory, which is copied, or from a tarball, such as a cloud
image's root. It must have systemd. It needs root.`,
		Example: "  unitd base add ubuntu@24.04 noble-server-cloudimg-amd64-root.tar.xz\n  unitd base add debian@12 /srv/debian-12",
		Args:    Args(2, 2, "name the base and what it is made from: unitd base add debian@12 DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.bases()
			if err != nil {
				return err
			}
			b, err := s.Add(a.Context(), args[0], args[1])
			return a.madeBase(b, err)
		},
	}
}

// madeBase says so, or why not.
func (a baseVerbs) madeBase(b bases.Base, err error) error {
	if errors.Is(err, errors.NotValid) && b.Name == "" {
		return agent.Wrongf("%v", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.Out, "base %s is there\n", b.Name)
	return errors.Trace(err)
}

func (a baseVerbs) baseRemoveCmd() *cobra.Command {
	return &cobra.Command{
		Use:     "remove BASE",
		Aliases: []string{"rm"},
		Short:   "Remove a base that no application uses",
		Example: "  unitd base remove debian@12",
		Args:    Args(1, 1, "name the base: unitd base remove debian@12"),
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.bases()
			if err != nil {
				return err
			}
			b, err := s.Find(args[0])
			if err == nil {
				err = a.unusedBase(b)
			}
			if err != nil && !errors.Is(err, errors.NotFound) {
				return err
			}
			if err := s.Remove(args[0]); err != nil {
				return err
			}
			_, err = fmt.Fprintf(a.Out, "base %s is removed\n", args[0])
			return errors.Trace(err)
		},
	}
}

// unusedBase says who uses a base.
func (a baseVerbs) unusedBase(b bases.Base) error {
	c, err := a.Open()
	if err != nil {
		return err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return err
	}
	var by []string
	for _, info := range infos {
		s, err := c.Open(info).Status(a.Context())
		if err != nil {
			return err
		}
		for _, app := range s.Applications {
			if app.Isolation.Root == b.Root {
				by = append(by, info.Name+"/"+app.Name)
			}
		}
	}
	if len(by) > 0 {
		return fmt.Errorf("base %s is used by %s: remove them first", b.Name, strings.Join(by, ", "))
	}
	return nil
}
