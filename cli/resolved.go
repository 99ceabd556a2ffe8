package cli

import (
	"fmt"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// resolvedFlags are the flags of resolved.
type resolvedFlags struct {
	noRetry, all, dryRun bool
}

func (a unitVerbs) resolvedCmd() *cobra.Command {
	var f resolvedFlags
	cmd := &cobra.Command{
		Use:     "resolved UNIT … | --all",
		Aliases: []string{"resolve"},
		Short:   "Run a failed hook again, or go on without it",
		Long: `Mark the failed hook of units as resolved: it is run again, or, with --no-retry,
taken as if it had succeeded. What a failed hook wrote is in neither case kept.
With --dry-run nothing is marked: it is said for each unit what would be done next,
up to the next hook, and what the failed run wrote.`,
		Example: `  unitd resolved ledger/0
  unitd resolved ledger/0 --no-retry --dry-run
  unitd resolved --all`,
		ValidArgsFunction: a.completeUnits,
		RunE: func(_ *cobra.Command, args []string) error {
			return a.resolved(args, f)
		},
	}
	cmd.Flags().BoolVar(&f.noRetry, "no-retry", false, "go on as if the hook had succeeded")
	cmd.Flags().BoolVar(&f.all, "all", false, "all units that are in error")
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "change nothing, and say what would be done")
	return cmd
}

func (a unitVerbs) resolved(args []string, f resolvedFlags) error {
	switch {
	case f.all && len(args) > 0:
		return Usagef("specify either units or --all, not both")
	case !f.all && len(args) == 0:
		return Usagef("no unit specified")
	}
	names, err := unitNames(args)
	if err != nil {
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if f.all {
		if names, err = a.unresolved(m); err != nil {
			return err
		}
	}
	done, failed := a.resolveEach(m, names, f)
	switch {
	case f.dryRun && failed > 0:
		return Exit(Failed)
	case f.dryRun:
		return nil
	}
	return a.afterEach(done, failed)
}

// resolveEach resolves units one by one, or says what that would bring, and
// reports how many were done and how many failed. With --all nobody has named the units, so one that
// has left its error by then, by its own retry or somebody else's answer, is as
// it was asked to be.
func (a unitVerbs) resolveEach(m *state.Model, names []model.UnitName, f resolvedFlags) (done, failed int) {
	for _, name := range names {
		var err error
		if f.dryRun {
			err = a.preview(m, name, f.noRetry)
		} else {
			err = m.Resolve(a.Context(), name, !f.noRetry)
		}
		settled := errors.Is(err, errors.NotValid) || errors.Is(err, errors.AlreadyExists) || errors.Is(err, errors.NotFound)
		if err == nil || f.all && !f.dryRun && settled {
			done++
			continue
		}
		failed++
		a.failure(err)
	}
	return done, failed
}

// unresolved are the units in error that nobody has resolved.
func (a unitVerbs) unresolved(m *state.Model) ([]model.UnitName, error) {
	units, err := m.Units(a.Context())
	if err != nil {
		return nil, err
	}
	var names []model.UnitName
	for _, u := range units {
		if u.Failed != 0 && u.Resolved.Run != u.Failed {
			names = append(names, u.Name)
		}
	}
	return names, nil
}

// preview says what resolving a unit would bring.
func (a unitVerbs) preview(m *state.Model, name model.UnitName, noRetry bool) error {
	mode := resolver.RunAgain
	if noRetry {
		mode = resolver.SkipIt
	}
	outlook, err := machine.Preview(a.Context(), m, name, mode, a.StoreClock().Now())
	if err != nil {
		return err
	}
	c := outlook.Failed
	a.printf("%s\n", name)
	a.printf("  failed:  %s, run %d: %s\n", c.Hook, c.Run, render.Harmless(a.sources(m).Text(name.Tag(), c.Failure.Message)))
	if noRetry {
		a.printf("  skipped: %s\n", c.Hook)
	}
	for _, op := range outlook.Ops {
		if words := opWords(op); words != "" {
			a.printf("  then:    %s\n", words)
		}
	}
	dropped := c.Failure.Dropped
	switch {
	case c.Failure.Interrupted:
		dropped = []string{"not known: the agent was killed in the hook"}
	case len(dropped) == 0:
		dropped = []string{"nothing"}
	}
	for i, line := range dropped {
		label := "dropped:"
		if i > 0 {
			label = "        "
		}
		a.printf("  %s %s\n", label, render.Harmless(line))
	}
	return nil
}

// opWords is an operation for people; empty for one that changes only what the
// agent remembers.
func opWords(op resolver.Op) string {
	switch op.Verb {
	case resolver.RunHook:
		return op.Hook.String()
	case resolver.Idle:
		return "nothing: " + op.Reason
	case resolver.Terminate:
		return "the unit's agent ends: " + op.Reason
	case resolver.Deploy:
		return "charm " + op.Charm + " is put in place: " + op.Reason
	case resolver.Replace:
		return "the unit's containers are replaced: " + op.Reason
	case resolver.EnterScope:
		return "the scope of " + relationList(op.Relations) + " is entered"
	case resolver.LeaveScope:
		return "the scope of " + relationList(op.Relations) + " is left"
	case resolver.Discard:
		return "given up: " + op.Reason
	case resolver.RunTask:
		return op.Hook.Cause + " is run, which waits"
	case resolver.AbortTask:
		return op.Hook.Cause + " is ended: " + op.Reason
	case resolver.Detach:
		return "storage is detached without a hook: " + op.Reason
	case resolver.MarkDying:
		return "the unit is Dying: " + op.Reason
	case resolver.MarkDead:
		return "the unit is Dead: " + op.Reason
	}
	return ""
}

// relationList names relations by their ids.
func relationList(ids []model.RelationID) string {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = fmt.Sprint(int(id))
	}
	if len(names) == 1 {
		return "relation " + names[0]
	}
	return "relations " + strings.Join(names, ", ")
}
