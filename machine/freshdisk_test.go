package machine_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// Seeds 000 and 002 have it as a serious bug that a unit that was redeployed on
// a fresh disk doesn't know which relations it is in, so that they can't be
// removed. What it is in the model says.
func TestAUnitOnAFreshDiskLeavesTheScopesThatItWasIn(t *testing.T) {
	t.Parallel()
	for name, remove := range map[string]func(*world, model.RelationID) error{
		"the relation is removed": func(w *world, id model.RelationID) error { return w.model.DestroyRelationID(w.ctx, id) },
		"the unit is removed":     func(w *world, _ model.RelationID) error { return w.model.DestroyUnit(w.ctx, "app/0") },
		"the other unit is removed with its application": func(w *world, _ model.RelationID) error {
			_, err := w.model.DestroyApplication(w.ctx, "mysql")
			return err
		},
	} {
		for when, whole := range map[string]bool{"its own directory is lost": false, "all that the agent had is lost": true} {
			t.Run(name+", "+when, func(t *testing.T) {
				t.Parallel()
				w, id := related(t, "true\n")
				w.settle()
				in, err := w.model.InScope(w.ctx, id)
				if err != nil || len(in) != 2 {
					t.Fatalf("in the relation are %v, %v, want two units", in, err)
				}
				w.stop()
				lost := w.unitDir("app/0")
				if whole {
					lost = filepath.Dir(lost)
				}
				if err := os.RemoveAll(lost); err != nil {
					t.Fatal(err)
				}
				if err := remove(w, id); err != nil {
					t.Fatal(err)
				}
				w.restart()
				w.settle()
				r, err := w.model.Relation(w.ctx, id)
				in, ierr := w.model.InScope(w.ctx, id)
				switch {
				case name == "the unit is removed":
					if err != nil || ierr != nil || r.Life != model.Alive || len(in) != 1 {
						t.Errorf("the relation is %+v, %v, want the other unit in it", r, err)
					}
				case !errors.Is(err, errors.NotFound):
					t.Errorf("the relation is still there: %+v, %v", r, err)
				}
				if name == "the unit is removed" {
					if u, err := w.model.Unit(w.ctx, "app/0"); !errors.Is(err, errors.NotFound) {
						t.Errorf("the unit is still there: %+v, %v", u, err)
					}
				}
			})
		}
	}
}
