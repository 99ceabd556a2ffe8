package state

import (
	"context"
	"fmt"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// modelConstraintsKey is where the model's constraints are, as their text.
const modelConstraintsKey = "model-constraints"

// Constraints are those of the model, which hold where an application says nothing else.
// Source: docs/spec/juju-clients.md §6.2.
func (m *Model) Constraints(ctx context.Context) (model.Constraints, error) {
	var c model.Constraints
	_, err := m.view(ctx, func(r docs) (err error) {
		c, err = r.modelConstraints()
		return errors.Trace(err)
	})
	return c, errors.Trace(err)
}

func (d docs) modelConstraints() (model.Constraints, error) {
	var text string
	_, err := d.find(modelConstraintsKey, &text)
	return readConstraints(text), errors.Trace(err)
}

// readConstraints reads what is stored. An older model may have anything there, of which
// nothing was asked for.
func readConstraints(text string) model.Constraints {
	c, err := model.ParseConstraints(text)
	if err != nil {
		return model.Constraints{}
	}
	return c
}

// SetConstraints replaces the model's constraints. Units that are there stay where they
// are.
func (m *Model) SetConstraints(ctx context.Context, c model.Constraints) error {
	_, err := m.update(ctx, func(tx *txn) error {
		if err := tx.alive(); err != nil {
			return errors.Trace(err)
		}
		return tx.put(modelConstraintsKey, c.String())
	})
	return errors.Annotate(err, "cannot set the model's constraints")
}

// ConstraintsOf are the application's own constraints; errors.NotFound if there is none.
func (m *Model) ConstraintsOf(ctx context.Context, application string) (model.Constraints, error) {
	app, err := m.Application(ctx, application)
	return readConstraints(app.Constraints), errors.Trace(err)
}

// SetConstraintsOf replaces the constraints of an application, for units that are added
// later. Errors: NotFound, NotValid for a subordinate, which has no machines.
func (m *Model) SetConstraintsOf(ctx context.Context, application string, c model.Constraints) error {
	return m.changeApplication(ctx, application, func(_ *txn, app *ApplicationDoc) error {
		if app.Subordinate {
			return errors.NewNotValid(nil, fmt.Sprintf("constraints do not apply to %q: it is a subordinate application, whose units are where those of others are", application))
		}
		app.Constraints = c.String()
		return nil
	})
}

// together are the constraints for a machine of an application's unit.
func (a ApplicationDoc) together(ofModel model.Constraints) model.Constraints {
	return readConstraints(a.Constraints).Under(ofModel)
}
