package cli

import (
	"context"
	"fmt"
	"strconv"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// relationVerbs make, suspend and remove relations.
type relationVerbs struct{ removals }

func (a relationVerbs) integrateCmd() *cobra.Command {
	var via string
	cmd := &cobra.Command{
		Use:     "integrate APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT] | URL[:ENDPOINT]",
		Aliases: []string{"relate"},
		Short:   "Relate two applications",
		Long: `Relate two applications by endpoints of the same interface. Where several pairs
of endpoints fit, name the endpoints. One of them may be of another model: by the name that
"consume" has given it, or by the URL of an offer, which is consumed first.`,
		Example:           "  unitd integrate shop ledger\n  unitd integrate shop:db ledger:db\n  unitd integrate shop admin/harbour.ledgerdb",
		Args:              Args(2, 2, "an integration must involve two applications"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			by, err := subnets(via)
			if err != nil {
				return err
			}
			if args, err = a.consumed(args); err != nil {
				return err
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			rel, err := a.relate(m, args[0], args[1], by)
			switch {
			case errors.Is(err, errors.AlreadyExists):
				return alreadyRelated(err)
			case errors.Is(err, errors.NotFound) && err.Error() == "no relations found":
				return deploy.NoRelation(err, args[0], args[1])
			case errors.Is(err, errors.NotFound):
				return errors.NewNotFound(nil, err.Error()+" (not found)")
			case err != nil:
				return err
			}
			if terminal.Is(a.Out) {
				a.Note("related %s (relation %d)", rel.Key, rel.ID)
			}
			return a.Ensure()
		},
	}
	cmd.Flags().StringVar(&via, "via", "", "across models: subnets by which the relation comes, to be shown; all is on this machine")
	return cmd
}

// alreadyRelated is the error of a relation that is there, in the words that
// scripts look for. Source: docs/spec/cli-juju.md §6.
func alreadyRelated(err error) error {
	var key string
	if _, serr := fmt.Sscanf(err.Error(), "cannot add relation %q", &key); serr != nil {
		return err
	}
	return errors.NewAlreadyExists(nil, fmt.Sprintf(
		"cannot add relation %q: relation %s (already exists):\n\nUse 'unitd status --relations' to view the current relations.", key, key))
}

func (a relationVerbs) removeRelationCmd() *cobra.Command {
	var force forceFlags
	cmd := &cobra.Command{
		Use:   "remove-relation APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT] | ID",
		Short: "Remove a relation, after its departed and broken hooks",
		Long: `Remove a relation: the units of both sides run departed and broken, and it is gone.
Subordinate units that were in it go too, if they have no other to their principal.
` + forceHelp,
		Example:           "  unitd remove-relation shop ledger\n  unitd remove-relation 3 --force",
		Args:              Args(1, 2, "a relation must involve two applications"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			how, err := force.level()
			if err != nil {
				return err
			}
			m, err := a.model()
			if err != nil {
				return err
			}
			return a.removeRelation(m, args, how)
		},
	}
	force.declare(cmd.Flags())
	return cmd
}

// removeRelation removes the relation that is given by its two sides, or its id.
func (a relationVerbs) removeRelation(m *state.Model, args []string, how state.Force) error {
	r, err := a.relationOf(m, args)
	if err != nil {
		return err
	}
	if r.IsPeer() {
		return m.DestroyRelationID(a.Context(), r.ID) // which says what is wrong
	}
	if err := a.warnRelation(m, r, how); err != nil {
		return err
	}
	err = a.removing(r.Key, how, func(ctx context.Context) error { return m.ForceRelation(ctx, r.ID, how, a.tellOf(r.Key)) })
	if err != nil {
		return err
	}
	return a.Ensure()
}

func (a relationVerbs) relationOf(m *state.Model, args []string) (state.RelationDoc, error) {
	if len(args) == 2 {
		return m.FindRelation(a.Context(), args[0], args[1])
	}
	id, err := strconv.Atoi(args[0])
	if err != nil {
		return state.RelationDoc{}, Usagef("a relation must involve two applications, or be given by its id")
	}
	r, err := m.Relation(a.Context(), model.RelationID(id))
	if errors.Is(err, errors.NotFound) {
		err = errors.NewNotFound(nil, fmt.Sprintf("relation %d not found (not found)", id))
	}
	return r, err
}
