package cli

import (
	"fmt"
	"slices"
	"strconv"
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
		Short: "Look after the systems that machines with systemd are on",
		Long: `Look after the bases of this host: root directories with a system in them, such as
debian@12, for units that are deployed with --isolate=machine. All units on a base
share it. What they change is kept apart.

An update makes a new version of a base. Applications that are already there stay on
the version that they were deployed on. Later ones get the new version.`,
		Example: "  unitd base fetch debian@12\n  unitd deploy ./site --isolate=machine",
		Args:    Args(0, 0, ""),
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.baseListCmd(), a.baseFetchCmd(), a.baseAddCmd(), a.baseUpdateCmd(), a.baseRemoveCmd(), a.basePruneCmd())
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
		Use:   "list",
		Short: "List the bases of this host",
		Long: `List the bases of this host, each in its newest version. The digest identifies what a
base was made from: an image's manifest, a tarball, or else the list of its packages.
Former says how many earlier versions are still there.`,
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
			rows := [][]render.Cell{render.Heads("Base", "Made", "Digest", "Former", "Source", "Root")}
			for _, b := range all {
				rows = append(rows, []render.Cell{{Text: b.Name}, {Text: b.Made}, {Text: shortDigest(b.Digest)}, {Text: strconv.Itoa(b.Former)}, {Text: b.Source}, {Text: b.Root}})
			}
			return a.table(output, rows)
		},
	}
	cmd.Flags().StringVar(&format, "format", "tabular", "tabular, json or yaml")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to a file")
	formats(cmd, "tabular", "json", "yaml")
	return cmd
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
			if err := a.unusedBase(s, args[0]); err != nil {
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

// shortDigest is the beginning of a digest, as people compare it.
func shortDigest(digest string) string {
	const most = len("sha256:") + 12
	return digest[:min(len(digest), most)]
}

func (a baseVerbs) basePruneCmd() *cobra.Command {
	return &cobra.Command{
		Use:   "prune",
		Short: "Remove versions of bases that no application uses",
		Long: `Remove the versions of bases that are neither the newest nor used by an application
of any model on this host. "unitd base update" does the same.`,
		Example: "  unitd base prune",
		Args:    Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			s, err := a.bases()
			if err != nil {
				return err
			}
			gone, err := a.pruneBases(s)
			if err == nil && gone == 0 {
				_, err = fmt.Fprintln(a.Out, "there is nothing to remove")
			}
			return errors.Trace(err)
		},
	}
}

// pruneBases removes versions that nobody uses, says which, and is how many.
func (a baseVerbs) pruneBases(s bases.Store) (int, error) {
	var by map[string][]string
	var unknown error
	gone, err := s.Prune(func(root string) bool { // asked once nobody else makes or removes bases
		if by == nil && unknown == nil {
			by, unknown = a.baseUsers()
		}
		return unknown != nil || len(by[root]) > 0
	})
	if err == nil {
		err = unknown
	}
	for _, b := range gone {
		if _, err := fmt.Fprintf(a.Out, "a former version of base %s, made %s, is removed\n", b.Name, b.Made); err != nil {
			return 0, errors.Trace(err)
		}
	}
	return len(gone), err
}

// unusedBase says who uses a base, in any of its versions.
func (a baseVerbs) unusedBase(s bases.Store, name string) error {
	all, err := s.Versions(name)
	if err != nil || len(all) == 0 {
		return err
	}
	by, err := a.baseUsers()
	if err != nil {
		return err
	}
	var users []string
	for _, b := range all {
		users = append(users, by[b.Root]...)
	}
	if len(users) > 0 {
		slices.Sort(users)
		return fmt.Errorf("base %s is used by %s: remove them first", name, strings.Join(users, ", "))
	}
	return nil
}

// baseUsers are the applications of all models, by the roots that they are on.
func (a baseVerbs) baseUsers() (map[string][]string, error) {
	c, err := a.Open()
	if err != nil {
		return nil, err
	}
	infos, err := c.Models(a.Context())
	if err != nil {
		return nil, err
	}
	by := map[string][]string{}
	for _, info := range infos {
		s, err := c.Open(info).Status(a.Context())
		if err != nil {
			return nil, err
		}
		for _, app := range s.Applications {
			by[app.Isolation.Root] = append(by[app.Isolation.Root], info.Name+"/"+app.Name)
		}
	}
	return by, nil
}
