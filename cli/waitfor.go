package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/waitfor"
)

// waitForFlags are the flags of wait-for's verbs.
type waitForFlags struct {
	query   string
	timeout time.Duration
	summary bool
}

// awaitedKind is what wait-for can wait for.
type awaitedKind struct {
	// word names it, and shown is how the summary begins.
	word, shown string
	// query is the one that holds where the thing is as people want it.
	query  string
	schema func() waitfor.Schema
	valid  func(name string) bool
	// find is the thing of that name; false: there is none.
	find func(a base, m *state.Model, name string) (waitfor.Object, bool, error)
}

// awaitedKinds are the table of wait-for. Source: docs/spec/juju-clients.md §7.6.
var awaitedKinds = []awaitedKind{
	{
		"application", "Application", `life=="alive" && status=="active"`, waitfor.ApplicationSchema, model.ValidApplication,
		inStatus(func(s *state.FullStatus, name string) (waitfor.Object, bool) { return waitfor.Application(s, name) }),
	}, {
		"unit", "unit", `life=="alive" && workload-status=="active"`, waitfor.UnitSchema,
		func(name string) bool {
			_, err := model.ParseUnitName(name)
			return err == nil
		},
		inStatus(func(s *state.FullStatus, name string) (waitfor.Object, bool) {
			return waitfor.Unit(s, model.UnitName(name))
		}),
	}, {
		"machine", "machine", `life=="alive" && status=="started"`, waitfor.MachineSchema, machineID.MatchString,
		inStatus(waitfor.Machine),
	}, {
		"model", "model", `life=="alive" && status=="available"`, waitfor.ModelSchema, model.ValidModelName,
		func(a base, m *state.Model, _ string) (waitfor.Object, bool, error) {
			s, err := a.See(m)
			if errors.Is(err, errors.NotFound) {
				return nil, false, nil
			}
			if err != nil {
				return nil, false, err
			}
			config, _, err := m.ModelConfig(a.Context())
			return waitfor.Model(s, config), true, err
		},
	},
}

// inStatus finds a thing in the status of its model.
func inStatus(find func(*state.FullStatus, string) (waitfor.Object, bool)) func(base, *state.Model, string) (waitfor.Object, bool, error) {
	return func(a base, m *state.Model, name string) (waitfor.Object, bool, error) {
		s, err := a.See(m)
		if err != nil {
			return nil, false, err
		}
		o, ok := find(s, name)
		return o, ok, nil
	}
}

func (a waiting) waitForCmd() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "wait-for application|unit|machine|model NAME",
		Short: "Wait until something holds for an application, unit, machine or model",
		Long: `Wait until a query holds for an application, a unit, a machine or a model, and print
what it has looked at. Without --query it is to be alive and active, or started, or
available. What isn't there yet is waited for; if it goes meanwhile that is an error,
unless the query is content with life=="dead".

A query compares fields by == != < <= > >=, joins that by && and ||, and may go through
a set: forEach(units, unit => unit.workload-status=="active"). A wrong field is answered
with those that there are. "unitd wait" waits until nothing is left to do.`,
		Example: `  unitd wait-for application shop
  unitd wait-for unit shop/0 --query 'workload-status=="blocked"' --timeout 2m`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return Usagef("what to wait for is missing: an application, a unit, a machine or a model")
			}
			return Usagef("cannot wait for %q: there are application, unit, machine and model", args[0])
		},
		RunE: func(*cobra.Command, []string) error { return nil },
	}
	for _, kind := range awaitedKinds {
		cmd.AddCommand(a.waitForKindCmd(kind))
	}
	return cmd
}

func (a waiting) waitForKindCmd(kind awaitedKind) *cobra.Command {
	var f waitForFlags
	example := map[string]string{"application": "shop", "unit": "shop/0", "machine": "0", "model": "default"}[kind.word]
	cmd := &cobra.Command{
		Use:     kind.word + " NAME",
		Short:   "Wait until a query holds for one " + kind.word,
		Long:    "Wait until a query holds for one " + kind.word + ". Without --query it is: " + kind.query,
		Example: "  unitd wait-for " + kind.word + " " + example,
		Args:    Args(1, 1, kind.word+" name must be supplied when waiting for "+kind.word),
		RunE: func(_ *cobra.Command, args []string) error {
			name := args[0]
			if kind.word == "model" {
				if err := a.follow(name); err != nil {
					return err
				}
				ref, err := modelRef(name)
				if err != nil && !errors.Is(err, ErrUsage) {
					return err
				}
				if err == nil {
					name = ref
				}
			}
			if !kind.valid(name) {
				return Usagef("%q is not valid %s name", name, kind.word)
			}
			query, err := waitfor.Parse(f.query, kind.schema())
			if err != nil {
				return Usagef("%v", err)
			}
			if f.timeout <= 0 {
				return Usagef("--timeout must be a time, as 90s or 5m")
			}
			return a.waitFor(kind, name, query, f)
		},
	}
	cmd.Flags().StringVar(&f.query, "query", kind.query, "what is to hold")
	cmd.Flags().DurationVar(&f.timeout, "timeout", 10*time.Minute, "give up after this long")
	cmd.Flags().BoolVar(&f.summary, "summary", true, "say on stderr how it is in the end")
	return cmd
}

// lostAtMost is how often a wait begins anew after its store has gone away. Each time takes as long
// as the store is sought.
const lostAtMost = 2

// waitFor waits for one thing, and prints what the query has looked at.
func (a waiting) waitFor(kind awaitedKind, name string, query *waitfor.Query, f waitForFlags) error {
	ctx, cancel := context.WithTimeout(a.Context(), f.timeout)
	defer cancel()
	over := fmt.Errorf("timed out waiting for %q to reach goal state", name)
	m, err := a.awaitedModel(ctx, kind, name)
	if errors.Is(err, context.DeadlineExceeded) {
		return over
	}
	if err != nil {
		return err
	}
	if err := a.Ensure(); err != nil {
		return err
	}
	changes, err := m.Watch(ctx, 0)
	if err != nil {
		return err
	}
	var last waitfor.Object
	lost := 0                            // how often, one after the other, the store went away meanwhile
	look := time.NewTicker(wordInterval) // what agents are present isn't in the watch
	defer look.Stop()
	for {
		o, there, err := kind.find(a.base, m, name)
		switch {
		case errors.Is(err, errors.Timeout) && lost < lostAtMost:
			lost++ // it is back at once where its agent is upgraded
		case err != nil && ctx.Err() == nil:
			return err
		case err == nil && (there || last != nil):
			if done, err := a.holds(kind, name, query, f, o, last, there); err != nil || done {
				return err
			}
			last = o
		}
		if err == nil {
			lost = 0
		}
		select {
		case _, more := <-changes:
			if !more {
				changes = nil
			}
		case <-look.C:
		case <-ctx.Done():
			if a.Context().Err() != nil {
				return errors.Trace(a.Context().Err())
			}
			return over
		}
	}
}

// holds says whether the query holds for the thing, and if so prints that. One that has
// gone is as it was when it was last there, but dead.
func (a waiting) holds(kind awaitedKind, name string, query *waitfor.Query, f waitForFlags, o, last waitfor.Object, there bool) (bool, error) {
	if !there {
		o = last
		o["life"] = model.Dead.String()
	}
	sight, err := query.Look(o)
	if err != nil {
		return false, err
	}
	for _, line := range sight.Printed {
		a.printf("%s\n", line)
	}
	switch {
	case !sight.Holds && !there:
		return false, errors.NewNotFound(nil, fmt.Sprintf("%s %s removed", kind.word, name))
	case !sight.Holds:
		return false, nil
	}
	if f.summary {
		is := map[any]string{model.Alive.String(): "is running", model.Dying.String(): "is being removed"}[o["life"]]
		if is == "" {
			is = "has been removed"
		}
		a.Note("%s %q %s", kind.shown, name, is)
	}
	return true, a.write("yaml", "", sight.Seen)
}

// awaitedModel is the model that the thing is in, or the model itself, which may have
// still to be made.
func (a waiting) awaitedModel(ctx context.Context, kind awaitedKind, name string) (*state.Model, error) {
	if kind.word != "model" {
		return a.model()
	}
	c, err := a.Open()
	if err != nil {
		return nil, errors.Trace(err)
	}
	look := time.NewTicker(wordInterval / 4)
	defer look.Stop()
	for {
		m, err := c.Model(ctx, name)
		if !errors.Is(err, errors.NotFound) {
			return m, errors.Trace(err)
		}
		select {
		case <-look.C:
		case <-ctx.Done():
			return nil, errors.Trace(ctx.Err())
		}
	}
}
