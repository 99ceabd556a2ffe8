package cli

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a relationVerbs) consumeCmd() *cobra.Command {
	from := ""
	cmd := &cobra.Command{
		Use:   "consume URL [ALIAS]",
		Short: "Make an offer of another model known in this one",
		Long: `Make an offer of another model of the store known in this model, by a name; without one, by the
offer's. Then "integrate" relates applications with it.`,
		Example: "  unitd consume admin/harbour.ledgerdb\n  unitd consume harbour.ledgerdb dbalias",
		Args:    Args(1, 2, "no remote offer specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			alias := ""
			if len(args) == 2 {
				if alias = args[1]; !model.ValidApplication(alias) {
					return Usagef("invalid application name %q", alias)
				}
			}
			if u, err := model.ParseOfferURL(args[0]); err == nil && u.Endpoint != "" {
				return errors.NewNotValid(nil, fmt.Sprintf("saas offer %q shouldn't include endpoint", args[0]))
			}
			u, saas, err := a.consumeURL(args[0], alias, from)
			if err != nil {
				return err
			}
			a.Note("Added %s as %s", u.Path(), saas.Name)
			return nil
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "experimental: the store with the model that makes the offer, named as for --store; needed if it is neither this store nor that of another controller of this host")
	return cmd
}

func (a relationVerbs) consume(u model.OfferURL, alias string) (state.SAASDoc, error) {
	m, err := a.model()
	if err != nil {
		return state.SAASDoc{}, err
	}
	from, err := a.modelOf(u.Model)
	if err != nil {
		return state.SAASDoc{}, err
	}
	u.Endpoint = ""
	return m.Consume(a.Context(), from, u, alias)
}

// consumed are the arguments of integrate, of which a URL becomes what it was consumed as.
// Source: docs/spec/juju-clients.md §11.2.
func (a relationVerbs) consumed(args []string) ([]string, error) {
	if model.IsOfferURL(args[0]) && model.IsOfferURL(args[1]) {
		return nil, Usagef("providing more than one remote endpoints not supported")
	}
	var sides []string
	for _, arg := range args {
		if model.IsOfferURL(arg) {
			u, saas, err := a.consumeURL(arg, "", "")
			if err != nil {
				return nil, err
			}
			if arg = saas.Name; u.Endpoint != "" {
				arg += ":" + u.Endpoint
			}
		}
		sides = append(sides, arg)
	}
	return sides, nil
}

// subnets reads --via: subnets of which none is all addresses.
func subnets(via string) ([]string, error) {
	var all []string
	for _, text := range strings.Split(via, ",") {
		text = strings.TrimSpace(text)
		if text == "" {
			continue
		}
		p, err := netip.ParsePrefix(text)
		switch {
		case err != nil:
			return nil, errors.NewNotValid(nil, fmt.Sprintf("CIDR %q not valid", text))
		case p.Bits() == 0:
			return nil, errors.NewNotValid(nil, fmt.Sprintf("CIDR %q not allowed", text))
		}
		all = append(all, text)
	}
	return all, nil
}

func (a relationVerbs) removeSAASCmd() *cobra.Command {
	var force, noWait bool
	cmd := &cobra.Command{
		Use:   "remove-saas NAME…",
		Short: "Forget what was consumed of other models, with its relations",
		Long: `Forget what was consumed of other models. Its relations are removed first, with their departed and
broken hooks; with --force it is gone at once, and no such hook runs.`,
		Example: "  unitd remove-saas dbalias\n  unitd remove-saas dbalias --force",
		Args:    Args(1, -1, "no SAAS application names specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			if noWait && !force {
				return Usagef("--no-wait requires --force")
			}
			for _, name := range args {
				if !model.ValidApplication(name) {
					return Usagef("invalid SAAS application name %q", name)
				}
			}
			return a.removeSAAS(args, force)
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "run no hook and wait for nobody")
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "with --force: the same as --force alone")
	return cmd
}

func (a relationVerbs) removeSAAS(names []string, force bool) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	how := state.Orderly
	if force {
		how = state.Abandon
	}
	done, failed := 0, 0
	for _, name := range names {
		if err := m.RemoveSAAS(a.Context(), name, how); err != nil {
			failed++
			a.failure(fmt.Errorf("removing SAAS application %s failed: %w", name, err))
			continue
		}
		done++
	}
	return a.afterEach(done, failed)
}
