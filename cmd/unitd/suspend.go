package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a *app) suspendRelationCmd() *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use:   "suspend-relation ID… | APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]",
		Short: "Suspend relations: departed and broken run, and the ids stay",
		Long: `Suspend relations: on both sides departed and broken run as if they were removed.
They keep their ids and what was written to them until "resume-relation".
"unitd show-unit" has the ids.`,
		Example:           "  unitd suspend-relation shop ledger --message \"ledger moves\"\n  unitd suspend-relation 3 4",
		Args:              args(1, -1, "no relation ids specified"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onRelations(args, func(m *state.Model, ids []model.RelationID) error { return m.Suspend(a.ctx, message, ids...) })
		},
	}
	cmd.Flags().StringVar(&message, "message", "", "say why, in the status of the relations")
	return cmd
}

func (a *app) resumeRelationCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "resume-relation ID… | APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]",
		Short:             "Resume relations that are suspended, as if they were made anew",
		Example:           "  unitd resume-relation shop ledger\n  unitd resume-relation 3 4",
		Args:              args(1, -1, "no relation ids specified"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onRelations(args, func(m *state.Model, ids []model.RelationID) error { return m.Resume(a.ctx, ids...) })
		},
	}
}

// onRelations does something with the relations that are given by their ids, or
// one by the applications that it relates.
func (a *app) onRelations(args []string, do func(*state.Model, []model.RelationID) error) error {
	m, err := a.model()
	if err != nil {
		return err
	}
	var ids []model.RelationID
	for _, arg := range args {
		if n, err := strconv.Atoi(arg); err == nil {
			ids = append(ids, model.RelationID(n))
		}
	}
	switch {
	case len(ids) == len(args):
	case len(ids) == 0 && len(args) == 2:
		r, err := m.FindRelation(a.ctx, args[0], args[1])
		if err != nil {
			return err
		}
		ids = append(ids, r.ID)
	default:
		return usagef("relations are given by their ids, or one by its two applications")
	}
	if err := do(m, ids); err != nil {
		return err
	}
	return a.ensureAgent()
}
