package cli

import (
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
)

// bundles applies bundles.
func (a charmVerbs) bundles() *bundle.Applier {
	return &bundle.Applier{Deployer: a.Deployer, Model: a.model}
}

// bundleFlags are those of deploy that are for bundles alone.
type bundleFlags struct {
	overlays    []string
	mapMachines string
}

func (f *bundleFlags) declare(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.overlays, "overlay", nil, "lay a file over the bundle; may be repeated")
	cmd.Flags().StringVar(&f.mapMachines, "map-machines", "", "which machines are the bundle's: existing (those of the same number), KEY=MACHINE, or both")
}

// onCharm says which of them were given for a charm. Source: docs/spec/juju-clients.md §10.1.
func (f bundleFlags) onCharm() error {
	var given []string
	if len(f.overlays) > 0 {
		given = append(given, "overlay")
	}
	if f.mapMachines != "" {
		given = append(given, "map-machines")
	}
	if len(given) == 0 {
		return nil
	}
	return errors.New("options provided but not supported when deploying a charm: " + strings.Join(given, ", "))
}

// deployBundle is deploy with a bundle. Source: docs/spec/juju-clients.md §13.1.
func (a charmVerbs) deployBundle(path, name string, f deployFlags) error {
	a.Offline = f.hub.offline
	return a.deployRead(path, name, f, func() (*bundle.Bundle, error) {
		if why := bundle.As(path, ""); why != "" {
			a.Note("%s", why)
		}
		return bundle.Read(path, f.bundle.overlays...)
	})
}

// deployRead deploys a bundle that read reads, if the flags are those of one.
func (a charmVerbs) deployRead(path, name string, f deployFlags, read func() (*bundle.Bundle, error)) error {
	if name != "" {
		return Usagef("%s", bundle.As(path, ": ")+"a bundle names its applications, and says their units and options itself")
	}
	if err := f.forBundle(path); err != nil {
		return err
	}
	if f.force {
		a.ignores("--force")
	}
	mapping, err := bundle.ParseMapping(f.bundle.mapMachines)
	if err != nil {
		return Usagef("%v", err)
	}
	wanted, err := read()
	if err != nil {
		return err
	}
	if names := wanted.Untrusted(); len(names) > 0 && !f.trust {
		return errors.New("Bundle cannot be deployed without trusting applications with your cloud credentials.\n" +
			"--trust says that these may have them:\n  - " + strings.Join(names, "\n  - "))
	}
	p, err := a.bundles().PlanOf(wanted)
	if err != nil {
		return err
	}
	defer p.Drop()
	if err := f.isolate.Check(); err != nil { // before there is a model
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.isolatePlan(m, p, f.isolate); err != nil {
		return err
	}
	p.Map = mapping
	w, err := a.bundles().Prepare(m, p)
	if err != nil {
		return err
	}
	return a.carryOut(w, f.dryRun)
}

// carryOut makes the changes that a bundle asks for, or says them alone.
func (a charmVerbs) carryOut(w *bundle.Work, dry bool) error {
	tell := func(c bundle.Change) { a.printf("- %s\n", c) }
	switch {
	case len(w.Changes) == 0:
		a.Note("No changes to apply.")
	case dry:
		a.printf("Changes to deploy bundle:\n")
		for _, c := range w.Changes {
			tell(c)
		}
	default:
		a.printf("Executing changes:\n")
		begun := 0
		err := w.Do(func(c bundle.Change) {
			begun++
			tell(c)
		})
		if err != nil && begun > 1 { // what was done before it needs an agent
			if err := a.Ensure(); err != nil {
				a.failure(err)
			}
		}
		if err != nil {
			return err
		}
		a.Note("Deploy of bundle completed.")
	}
	if dry {
		return nil
	}
	return a.added()
}
