package cli

import (
	"strconv"

	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func (a relationVerbs) suspendRelationCmd() *cobra.Command {
	var message string
	cmd := &cobra.Command{
		Use:   "suspend-relation ID… | APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]",
		Short: "Suspend relations: departed and broken run, and the ids stay",
		Long: `Suspend relations: on both sides departed and broken run as if they were removed.
They keep their ids and what was written to them until "resume-relation".
"unitd show-unit" has the ids.`,
		Example:           "  unitd suspend-relation shop ledger --message \"ledger moves\"\n  unitd suspend-relation 3 4",
		Args:              Args(1, -1, "no relation ids specified"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onRelations(args, func(m *state.Model, ids []model.RelationID) error { return m.Suspend(a.Context(), message, ids...) })
		},
	}
	cmd.Flags().StringVar(&message, "message", "", "say why, in the status of the relations")
	return cmd
}

func (a relationVerbs) resumeRelationCmd() *cobra.Command {
	return &cobra.Command{
		Use:               "resume-relation ID… | APPLICATION[:ENDPOINT] APPLICATION[:ENDPOINT]",
		Short:             "Resume relations that are suspended, as if they were made anew",
		Example:           "  unitd resume-relation shop ledger\n  unitd resume-relation 3 4",
		Args:              Args(1, -1, "no relation ids specified"),
		ValidArgsFunction: a.completeEndpoints,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.onRelations(args, func(m *state.Model, ids []model.RelationID) error { return m.Resume(a.Context(), ids...) })
		},
	}
}

// onRelations does something with the relations that are given by their ids, or
// one by the applications that it relates.
func (a relationVerbs) onRelations(args []string, do func(*state.Model, []model.RelationID) error) error {
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
		r, err := m.FindRelation(a.Context(), args[0], args[1])
		if err != nil {
			return err
		}
		ids = append(ids, r.ID)
	default:
		return Usagef("relations are given by their ids, or one by its two applications")
	}
	if err := do(m, ids); err != nil {
		return err
	}
	return a.Ensure()
}
