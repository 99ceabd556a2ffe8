package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
)

func (a *app) integrateCmd() *cobra.Command {
	var via string
	cmd := &cobra.Command{
		Use:     "integrate APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]",
		Aliases: []string{"relate"},
		Short:   "Relate two applications",
		Long: `Relate two applications by endpoints of the same interface. Where several pairs
of endpoints fit, name the endpoints.`,
		Example:           "  unitd integrate shop ledger\n  unitd integrate shop:db ledger:db",
		Args:              args(2, 2, "an integration must involve two applications"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			rel, err := m.AddRelation(a.ctx, args[0], args[1])
			switch {
			case errors.Is(err, errors.AlreadyExists):
				return alreadyRelated(err)
			case errors.Is(err, errors.NotFound) && err.Error() == "no relations found":
				return noRelation(err, args[0], args[1])
			case errors.Is(err, errors.NotFound):
				return errors.NewNotFound(nil, err.Error()+" (not found)")
			case err != nil:
				return err
			}
			if isTerminal(a.stdout) {
				a.note("related %s (relation %d)", rel.Key, rel.ID)
			}
			return a.ensureAgent()
		},
	}
	cmd.Flags().StringVar(&via, "via", "", "noted: all is on this machine")
	return cmd
}

// noRelation is the error of two sides that don't fit, with the reason where
// there is a simple one.
func noRelation(err error, one, other string) error {
	one, _, _ = strings.Cut(one, ":")
	other, _, _ = strings.Cut(other, ":")
	if one != other {
		return err
	}
	return errors.NewNotFound(nil, fmt.Sprintf("%v: application %q can't be related to itself", err, one))
}

// alreadyRelated is the error of a relation that is there, in the words that
// scripts look for. Source: spec/cli-juju.md §6.
func alreadyRelated(err error) error {
	var key string
	if _, serr := fmt.Sscanf(err.Error(), "cannot add relation %q", &key); serr != nil {
		return err
	}
	return errors.NewAlreadyExists(nil, fmt.Sprintf(
		"cannot add relation %q: relation %s (already exists):\n\nUse 'unitd status --relations' to view the current relations.", key, key))
}

func (a *app) removeRelationCmd() *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:               "remove-relation APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT] | ID",
		Short:             "Remove a relation, after its departed and broken hooks",
		Example:           "  unitd remove-relation shop ledger\n  unitd remove-relation 3",
		Args:              args(1, 2, "a relation must involve two applications"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			if len(args) == 1 {
				id, nerr := strconv.Atoi(args[0])
				if nerr != nil {
					return usagef("a relation must involve two applications, or be given by its id")
				}
				err = m.DestroyRelationID(a.ctx, model.RelationID(id))
			} else {
				err = m.DestroyRelation(a.ctx, args[0], args[1])
			}
			if err != nil {
				return err
			}
			return a.ensureAgent()
		},
	}
	cmd.Flags().BoolVar(&force, "force", false, "noted: a relation always goes once its units' hooks have run or were resolved")
	return cmd
}
