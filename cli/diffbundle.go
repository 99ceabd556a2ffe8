package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/charmhub"
	"github.com/unitd/unitd/deploy"
)

// diffFlags are the flags of diff-bundle.
type diffFlags struct {
	bundle      bundleFlags
	annotations bool
	channel     string
	arch        string
	base        baseFlags
}

// diffBundleCmd is diff-bundle. Source: docs/spec/juju-clients.md §13.4.
func (a charmVerbs) diffBundleCmd() *cobra.Command {
	var f diffFlags
	cmd := &cobra.Command{
		Use:   "diff-bundle BUNDLE",
		Short: "Say in what the model differs from a bundle",
		Long: `Say in what the model differs from what the bundle would make of an empty one, as
YAML; {} if it doesn't. Machines are compared if the bundle has some. BUNDLE is a file,
or the name of a bundle in Charmhub; --channel, --base and --arch say which release of
that.`,
		Example: "  unitd diff-bundle ./shop.yaml\n  unitd diff-bundle ./shop.yaml --overlay more.yaml --map-machines 0=3\n  unitd diff-bundle harbour --channel edge",
		Args:    Args(1, 1, "no bundle specified"),
		RunE:    func(_ *cobra.Command, args []string) error { return a.diffBundle(args[0], f) },
	}
	f.bundle.declare(cmd)
	fs := cmd.Flags()
	fs.BoolVar(&f.annotations, "annotations", false, "compare annotations too")
	fs.StringVar(&f.channel, "channel", "", "the channel of a bundle in Charmhub")
	fs.StringVar(&f.base.base, "base", "", "the base of a bundle in Charmhub")
	f.base.declareSeries(fs)
	fs.StringVar(&f.arch, "arch", "", "the architecture of a bundle in Charmhub, instead of this host's")
	return cmd
}

func (a charmVerbs) diffBundle(word string, f diffFlags) error {
	mapping, err := bundle.ParseMapping(f.bundle.mapMachines)
	if err != nil {
		return Usagef("%v", err)
	}
	read, err := a.compared(word, f)
	if err != nil {
		return err
	}
	plan, err := a.bundles().PlanOf(read)
	if err != nil {
		return err
	}
	defer plan.Drop()
	plan.Map = mapping
	m, err := a.model()
	if err != nil {
		return err
	}
	p, err := a.picture(m)
	if err != nil {
		return err
	}
	text, warnings, err := bundle.Diff(plan.Compare(f.annotations), p)
	if err != nil {
		return err
	}
	for _, line := range warnings {
		a.Note("WARNING %s", line)
	}
	a.printf("%s", text)
	return nil
}

// compared reads the bundle that a word names: a file, or one of a hub.
func (a charmVerbs) compared(word string, f diffFlags) (*bundle.Bundle, error) {
	base, err := f.base.parse(a.Note)
	if err != nil {
		return nil, err
	}
	hub := hubFlags{channel: f.channel, revision: latest}
	if err := hub.check(); err != nil {
		return nil, err
	}
	if bundle.Is(word) || deploy.IsPath(word) {
		return bundle.Read(word, f.bundle.overlays...)
	}
	if err := a.followed(hub); err != nil {
		return nil, err
	}
	if path, err := a.Local(word); err != nil || path != "" {
		if err != nil {
			return nil, err
		}
		return bundle.Read(path, f.bundle.overlays...)
	}
	r, err := a.ofArchitecture(f.arch, deploy.Wanted{Word: word, Channel: f.channel, Revision: latest, Base: base})
	if err != nil {
		return nil, err
	}
	if r.Type != charmhub.TypeBundle {
		return nil, errors.NewNotValid(nil, fmt.Sprintf("%q is a %s, not a bundle", r.Name, r.Type))
	}
	return a.readHubBundle(r, f.bundle.overlays)
}

// ofArchitecture is Resolve for an architecture; empty: this host's.
func (a charmVerbs) ofArchitecture(arch string, w deploy.Wanted) (charmhub.Release, error) {
	hub, err := a.Hub()
	if err != nil {
		return charmhub.Release{}, err
	}
	if arch != "" {
		if !slices.Contains(architectures(), arch) {
			return charmhub.Release{}, Usagef("unexpected architecture flag value %q, expected <%s>", arch, strings.Join(architectures(), "|"))
		}
		defer func(host string) { hub.Architecture = host }(hub.Architecture)
		hub.Architecture = arch
	}
	return a.Resolve(w)
}
