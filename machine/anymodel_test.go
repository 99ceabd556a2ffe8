package machine_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
)

// The applications that a model of anyModel may have, by the charm of each. The
// charms have no hooks: what is run is not their doing.
var (
	anyCharms = map[string]string{
		"both":  "provides: {left: one, right: two}\nrequires: {up: one, down: two}\npeers: {ring: ring}\n",
		"needs": "requires: {up: one, down: two}\npeers: {ring: ring, band: band}\n",
		"gives": "provides: {left: one, right: two}\n",
		"sub":   "subordinate: true\nrequires: {host: {interface: juju-info, scope: container}, up: one}\n",
	}
	anyApplications = []string{"both", "needs", "gives", "sub", "other"}
)

func anyCharm(app string) string {
	if app == "other" {
		return "both"
	}
	return app
}

// step is something that happens to a model once so many more hooks have run,
// or when nothing is left to do.
type step struct {
	after int
	line  string
}

// drawSteps draws what happens to a model: VERB APPLICATION [NUMBER | APPLICATION].
func drawSteps(t *rapid.T, most int) []step {
	var steps []step
	for _, app := range anyApplications[:rapid.IntRange(1, len(anyApplications)).Draw(t, "applications")] {
		steps = append(steps, step{0, fmt.Sprintf("deploy %s %d", app, rapid.IntRange(1, 2).Draw(t, "units"))})
	}
	verbs := []string{"add", "add", "remove", "relate", "relate", "relate", "relate", "relate", "unrelate", "config", "write", "write", "write-app",
		"leader-settings", "depose", "suspend", "resume", "upgrade", "trust", "remove-application", "deploy"}
	for range rapid.IntRange(3, most).Draw(t, "steps") {
		verb := rapid.SampledFrom(verbs).Draw(t, "verb")
		app := rapid.SampledFrom(anyApplications).Draw(t, "application")
		line := fmt.Sprintf("%s %s %d", verb, app, rapid.IntRange(0, 3).Draw(t, "number"))
		if verb == "relate" {
			other := rapid.SampledFrom(anyApplications).Draw(t, "other")
			line = fmt.Sprintf("%s %s %s", verb, app, other+rapid.SampledFrom([]string{"", ":up", ":down", ":left", ":right"}).Draw(t, "endpoint"))
		}
		steps = append(steps, step{rapid.IntRange(0, 6).Draw(t, "after"), line})
	}
	return steps
}

// mostUnits is how many units an application may have.
const mostUnits = 4

// play does a step, as somebody beside the agent would. What can't be done is
// refused, each time with the same words.
func play(ctx context.Context, m *state.Model, charms map[string]string, line string) error {
	words := strings.Fields(line)
	verb, app, about := words[0], words[1], words[2]
	n := int(about[0] - '0')
	switch verb {
	case "deploy":
		args := state.DeployArgs{Application: app, Charm: charms[anyCharm(app)+"1"], Units: n}
		if app == "sub" {
			args.Units = 0
		}
		return m.Deploy(ctx, args)
	case "relate":
		_, err := m.AddRelation(ctx, app, about)
		return err
	case "config":
		return m.SetConfig(ctx, app, map[string]string{"n": about}, nil)
	case "trust":
		return m.SetTrust(ctx, app, n > 1)
	case "depose":
		return playDepose(ctx, m, app)
	case "upgrade":
		return m.SetCharm(ctx, app, charms[anyCharm(app)+fmt.Sprint(n%2+1)], false)
	case "remove-application":
		_, err := m.DestroyApplication(ctx, app)
		return err
	case "unrelate", "suspend", "resume":
		return playRelation(ctx, m, verb, app, n)
	}
	return playUnit(ctx, m, verb, app, n)
}

// playDepose has another unit lead. Where there is no other, nothing is done: the agent
// claims for the unit again at once, and whether the unit looks in between is open.
func playDepose(ctx context.Context, m *state.Model, app string) error {
	leader, _, err := m.Leadership(ctx, app)
	if err != nil || leader == "" {
		return err
	}
	units, err := m.Units(ctx)
	if err != nil {
		return err
	}
	other := func(u state.UnitDoc) bool {
		return u.Name.Application() == app && u.Name != leader && u.Life == model.Alive
	}
	if !slices.ContainsFunc(units, other) {
		return nil
	}
	return m.Depose(ctx, app)
}

func playRelation(ctx context.Context, m *state.Model, verb, app string, n int) error {
	rels, err := m.RelationsOf(ctx, app)
	if err != nil || len(rels) == 0 {
		return err
	}
	r := rels[n%len(rels)]
	if verb == "unrelate" {
		return m.DestroyRelationID(ctx, r.ID)
	}
	if verb == "suspend" {
		return m.Suspend(ctx, "", r.ID)
	}
	return m.Resume(ctx, r.ID)
}

func playUnit(ctx context.Context, m *state.Model, verb, app string, n int) error {
	all, err := m.Units(ctx)
	if err != nil {
		return err
	}
	units := slices.DeleteFunc(all, func(u state.UnitDoc) bool { return u.Name.Application() != app })
	slices.SortFunc(units, func(a, b state.UnitDoc) int { return model.CompareUnits(a.Name, b.Name) })
	switch {
	case verb == "add" && len(units) < mostUnits:
		_, err := m.AddUnits(ctx, app, 1)
		return err
	case verb == "add" || len(units) == 0:
		return nil
	}
	unit := units[n%len(units)]
	switch verb {
	case "remove":
		return m.DestroyUnit(ctx, unit.Name)
	case "write":
		return writeBag(ctx, m, unit, fmt.Sprint(unit.Run), false)
	}
	leader, _, err := m.Leadership(ctx, app)
	if err != nil || leader == "" {
		return err
	}
	unit, err = m.Unit(ctx, leader)
	if err != nil {
		return err
	}
	if verb == "write-app" {
		return writeBag(ctx, m, unit, fmt.Sprint(unit.Run), true)
	}
	changes := model.Changes{LeaderSettings: model.Settings{"n": fmt.Sprint(unit.Run)}}
	return commitBeside(ctx, m, unit, changes)
}

// commitBeside commits what a unit would write, while its agent waits at its
// gate. The agent takes it for a run whose record it has lost, and that told the
// charm nothing. A unit that has run nothing writes nothing.
func commitBeside(ctx context.Context, m *state.Model, unit state.UnitDoc, changes model.Changes) error {
	if unit.Run == 0 {
		return nil
	}
	var memory resolver.Memory
	if err := json.Unmarshal(unit.Memory, &memory); err != nil {
		return err
	}
	memory.Run, memory.Hook = unit.Run+1, hooks.Info{Kind: hooks.Exec}
	b, err := json.Marshal(memory)
	if err != nil {
		return err
	}
	return m.CommitHook(ctx, state.HookCommit{Unit: unit.Name, Run: memory.Run, Changes: changes, Memory: b, LeaveScope: model.NoRelation})
}

// writeBag writes to the databags of a unit, as a hook of its would.
func writeBag(ctx context.Context, m *state.Model, unit state.UnitDoc, value string, app bool) error {
	detail, err := m.ShowUnit(ctx, unit.Name)
	if err != nil {
		return err
	}
	changes := model.Changes{Relations: map[model.RelationID]model.RelationChange{}}
	for _, r := range detail.Relations {
		bag := model.RelationChange{Unit: model.Settings{"k": value}}
		if app {
			bag = model.RelationChange{Application: model.Settings{"k": value}}
		}
		changes.Relations[r.ID] = bag
	}
	err = commitBeside(ctx, m, unit, changes)
	if errors.Is(err, errors.NotFound) {
		return nil // it is leaving
	}
	return err
}
