package hookcontext_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func TestAHookReadsItsOwnWrites(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	must(t, c.SetUnitSettings(3, model.Settings{"a": "1", "n": ""}))
	must(t, c.SetApplicationSettings(3, model.Settings{"b": "2"}))
	must(t, c.SetLeaderSettings(model.Settings{"c": "3"}))
	must(t, c.SetState(map[string]string{"d": ""}))
	c.DeleteState("n")
	for what, want := range map[string]string{
		"app/0": "map[a:1]", "app": "map[b:2 n:1]", "leader settings": "map[c:3 n:1]", "state": "map[d:]",
		"pg/0": "map[n:1]", "pg": "map[n:1]",
	} {
		got, err := readers(c)[what]()
		must(t, err)
		mustBe(t, what, got, want)
	}
	other, err := c.UnitSettings(4, "app/0")
	must(t, err)
	mustBe(t, "in another relation", len(other), 1)
}

func TestWritesThatChangeNothingAreLeftOutIfThatIsKnown(t *testing.T) {
	t.Parallel()
	write := func(c *hookcontext.Context) {
		must(t, c.SetUnitSettings(3, model.Settings{"n": "1", "gone": ""}))
		must(t, c.SetLeaderSettings(model.Settings{"n": "1"}))
		must(t, c.SetState(map[string]string{"n": "1"}))
		c.DeleteState("gone")
	}
	known := newContext(newChanging())
	for _, read := range readers(known) {
		_, err := read()
		must(t, err)
	}
	write(known)
	if changes := known.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("changes: %+v", changes)
	}
	unknown := newContext(newChanging())
	write(unknown)
	changes := unknown.Changes()
	mustBe(t, "relations", fmt.Sprint(changes.Relations), "map[3:{map[gone: n:1] map[]}]")
	mustBe(t, "leader settings", fmt.Sprint(changes.LeaderSettings), "map[n:1]")
	mustBe(t, "keys of the state", len(changes.State), 2)
}

// The commit of config-changed has the unit's addresses follow, but for those
// that the hook has written, be it what was there.
func TestAddressesThatAreWrittenAreNeverLeftOut(t *testing.T) {
	t.Parallel()
	for kind, want := range map[hooks.Kind]string{
		hooks.ConfigChanged: "map[3:{map[ingress-address:10.9.9.9] map[]}]",
		hooks.UpdateStatus:  "map[]",
	} {
		p := paramsOf(addressed{newChanging()})
		p.Hook.Kind = kind
		c := hookcontext.New(p)
		_, err := c.UnitSettings(3, "app/0")
		must(t, err)
		must(t, c.SetUnitSettings(3, model.Settings{"ingress-address": "10.9.9.9", "k": "v"}))
		mustBe(t, string(kind), fmt.Sprint(c.Changes().Relations), want)
	}
}

// addressed is a view of databags with an address.
type addressed struct{ *changing }

func (addressed) Settings(model.RelationID, model.UnitName) (model.Settings, error) {
	return model.Settings{"ingress-address": "10.9.9.9", "k": "v"}, nil
}

func TestSettingsAreForThoseInTheRelation(t *testing.T) {
	t.Parallel()
	view := newChanging()
	c := newContext(view)
	const denied = "permission denied"
	_, err := c.UnitSettings(3, "other/0")
	mustFail(t, "a unit of another application", err, errors.Forbidden, denied)
	_, err = c.UnitSettings(3, "app/1")
	mustFail(t, "another unit of the own application", err, errors.Forbidden, denied)
	_, err = c.UnitSettings(4, "app/1")
	must(t, err) // a peer
	_, err = c.ApplicationSettings(3, "other")
	mustFail(t, "another application", err, errors.Forbidden, denied)
	_, err = c.UnitSettings(99, "pg/0")
	mustFail(t, "another relation", err, errors.NotFound, "relation not found")
	mustFail(t, "writing there", c.SetUnitSettings(99, nil), errors.NotFound, "relation not found")

	view.err = errors.NotFoundf("unit")
	_, err = c.UnitSettings(3, "pg/9")
	mustFail(t, "a unit that never was", err, errors.Forbidden, denied)
	own, err := c.UnitSettings(3, "app/0")
	must(t, err) // not yet in scope
	mustBe(t, "own settings", len(own), 0)
	mustFail(t, "an empty key", c.SetUnitSettings(3, model.Settings{"": "x"}), errors.NotValid, "empty key in relation settings")
}

func TestNonLeadersAreRefusedAtTheCall(t *testing.T) {
	t.Parallel()
	view := newChanging()
	view.leader = func() (int64, error) { return 0, nil }
	c := newContext(view)
	_, err := c.ApplicationSettings(3, "app")
	mustFail(t, "reading own application settings", err, errors.Forbidden, "permission denied")
	_, err = c.ApplicationSettings(4, "app")
	must(t, err) // of a peer relation
	mustFail(t, "writing them", c.SetApplicationSettings(4, model.Settings{"a": "b"}), errors.Forbidden, "cannot write relation settings")
	mustFail(t, "writing leader settings", c.SetLeaderSettings(model.Settings{"a": "b"}), errors.Forbidden,
		"cannot write leadership settings: cannot write settings: not the leader")
	mustFail(t, "setting the application's status", c.SetApplicationStatus("active", ""), hookcontext.ErrNotLeader, "this unit is not the leader")
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) || len(view.set) > 0 {
		t.Errorf("changes: %+v, statuses %v", changes, view.set)
	}
}

func TestLeadershipIsAskedForEachTimeUntilItIsLost(t *testing.T) {
	t.Parallel()
	view := newChanging()
	for _, lost := range []int64{0, 3} { // to nobody, and in between to another
		answers := []int64{2, 2, lost, 2}
		view.leader = func() (int64, error) {
			answer := answers[0]
			answers = answers[1:]
			return answer, nil
		}
		c := newContext(view)
		for i, want := range []bool{true, true, false, false, false} {
			got, err := c.IsLeader()
			must(t, err)
			mustBe(t, fmt.Sprintf("answer %d", i), got, want)
		}
		mustBe(t, "answers left", len(answers), 1)
	}
}

func TestOnlyWhatALeaderWritesDependsOnItsEpoch(t *testing.T) {
	t.Parallel()
	view := newChanging()
	view.leader = func() (int64, error) { return 7, nil }
	for name, tt := range map[string]struct {
		write func(*hookcontext.Context) error
		want  int64
	}{
		"nothing":             {func(c *hookcontext.Context) error { _, err := c.IsLeader(); return err }, 0},
		"the unit's settings": {func(c *hookcontext.Context) error { return c.SetUnitSettings(4, model.Settings{"a": "b"}) }, 0},
		"the application's":   {func(c *hookcontext.Context) error { return c.SetApplicationSettings(4, model.Settings{"a": "b"}) }, 7},
		"the leader's":        {func(c *hookcontext.Context) error { return c.SetLeaderSettings(model.Settings{"a": "b"}) }, 7},
		"another, having asked": {func(c *hookcontext.Context) error {
			_, _ = c.IsLeader()
			return c.SetUnitSettings(4, model.Settings{"a": "b"})
		}, 0},
	} {
		c := newContext(view)
		must(t, tt.write(c))
		mustBe(t, name, c.Changes().Epoch, tt.want)
	}
}

func TestStateHasLimits(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	long := func(n int) string { return string(make([]byte, n)) }
	must(t, c.SetState(map[string]string{long(256): long(65536)}))
	mustFail(t, "a long key", c.SetState(map[string]string{"a": "", long(257): ""}), errors.NotValid, "max allowed key length (256) exceeded")
	mustFail(t, "a long value", c.SetState(map[string]string{"a": long(65537)}), errors.NotValid, "max allowed value length (65536) exceeded")
	mustBe(t, "keys written", len(c.Changes().State), 1)
}

// What is committed is what the hook saw, whatever it wrote, and whether or
// not it had read before.
func TestChangesLeadToWhatTheHookSaw(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.SampledFrom([]string{"a", "b", "c", "n"})
		value := rapid.SampledFrom([]string{"", "1", "2"})
		view := newChanging()
		view.bag = rapid.MapOf(key, rapid.SampledFrom([]string{"1", "2"})).Draw(t, "bag")
		view.state = rapid.MapOf(key, value).Draw(t, "state")
		c := newContext(view)
		for range rapid.IntRange(0, 8).Draw(t, "steps") {
			switch rapid.IntRange(0, 4).Draw(t, "step") {
			case 0:
				_, _ = c.UnitSettings(3, "app/0")
			case 1:
				_, _ = c.State()
			case 2:
				_ = c.SetUnitSettings(3, rapid.MapOf(key, value).Draw(t, "settings"))
			case 3:
				_ = c.SetState(rapid.MapOf(key, value).Draw(t, "values"))
			case 4:
				c.DeleteState(key.Draw(t, "key"))
			}
		}
		changes := c.Changes()
		settings, _ := view.bag.Apply(changes.Relations[3].Unit)
		seen, _ := c.UnitSettings(3, "app/0")
		if fmt.Sprint(settings) != fmt.Sprint(seen) {
			t.Errorf("settings: %v committed, %v seen", settings, seen)
		}
		state := map[string]string{}
		for k, v := range view.state {
			state[k] = v
		}
		for k, v := range changes.State {
			if v == nil {
				delete(state, k)
			} else {
				state[k] = *v
			}
		}
		seenState, _ := c.State()
		if fmt.Sprint(state) != fmt.Sprint(seenState) {
			t.Errorf("state: %v committed, %v seen", state, seenState)
		}
	})
}
