package state_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// picture is the model as it is, and since tells what differs from that.
func (w *world) picture() model.Picture {
	w.Helper()
	p, err := w.Picture(w.ctx)
	w.ok(err)
	return p
}

func (w *world) since(former model.Picture, want ...string) {
	w.Helper()
	var got []string
	for _, d := range w.picture().Since(former) {
		got = append(got, d.String())
	}
	w.is("difference", strings.Join(got, "\n"), strings.Join(want, "\n"))
}

func TestPictureHasAllThatAHookWrites(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	before := w.picture()
	w.since(before)
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: everything(id), LeaveScope: model.NoRelation}))
	w.ok(w.SetCharmStatus(w.ctx, "mysql/0", model.Status{Status: "active", Message: "up"}))
	w.ok(w.SetStatus(w.ctx, state.ApplicationStatus, "mysql", model.Status{Status: "blocked"}))
	w.since(before,
		`mysql  + status: blocked`,
		`mysql leader-settings  + password: x`,
		`mysql secrets  + 9m4e2mr0ui3e8a215n4g: revision 1`,
		`mysql/0  ~ status: waiting "waiting for machine" -> active "up"`,
		`mysql/0  + version: 8.0`,
		`mysql/0 ports  + 3306/tcp`,
		`mysql/0 state  + primary: yes`,
		`mysql/0 storage  + data/0: pending`,
		`mysql/0 storage  + data/1: pending`,
		`mysql:server mysql  + database: shop`,
		`mysql:server mysql/0  + port: 3306`,
	)
}

func TestPictureHasWhatComesAndGoes(t *testing.T) {
	t.Parallel()
	w, id := pair(t)
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 1, Changes: everything(id), LeaveScope: model.NoRelation}))
	before := w.picture()
	// The settings of a unit that has left are stored, but nobody's any more.
	w.leave("mysql/0", id)
	w.since(before, "mysql:server mysql/0  - port: 3306", "mysql:server mysql/0  - private-address: 10.0.0.1")
	w.ok(w.ForceRemoveUnit(w.ctx, "mysql/0"))
	w.ok(w.DestroyRelationID(w.ctx, id))
	_, err := w.AddUnits(w.ctx, "wordpress", 1)
	w.ok(err)
	w.since(before,
		"mysql  - leader: mysql/0",
		"mysql/0  - unit: alive",
		"wordpress/1  + unit: alive",
		`wordpress/1  + status: waiting "waiting for machine"`,
		"wordpress:db mysql:server  ~ relation: alive -> dying",
	)
}
