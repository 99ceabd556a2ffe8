package hookcontext_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/model"
)

func TestTheSameQuestionHasTheSameAnswerThoughTheModelChanges(t *testing.T) {
	t.Parallel()
	view := newChanging()
	for what, read := range readers(newContext(view)) {
		first, err := read()
		must(t, err)
		view.ports = map[model.UnitName]model.Ports{"app/0": {"": {{From: 1, To: 1, Protocol: "tcp"}}}}
		second, err := read()
		must(t, err)
		mustBe(t, what, second, first)
		mustBe(t, "questions for "+what, view.asked[what], 1)
	}
}

func TestThatThereIsNoneIsAnAnswerToo(t *testing.T) {
	t.Parallel()
	view := newChanging()
	view.err = errors.NotFoundf("it")
	for what, read := range readers(newContext(view)) {
		first, firstErr := read()
		second, secondErr := read()
		mustBe(t, what, second, first)
		mustBe(t, "error for "+what, fmt.Sprint(secondErr), fmt.Sprint(firstErr))
		mustBe(t, "questions for "+what, view.asked[what], 1)
	}
}

func TestAFailureIsNoAnswer(t *testing.T) {
	t.Parallel()
	view := newChanging()
	c := newContext(view)
	for what, read := range readers(c) {
		view.err = errors.New("no quorum")
		if _, err := read(); err == nil || errors.Is(err, errors.NotFound) {
			t.Errorf("%s: error %v", what, err)
		}
		view.err = nil
		if _, err := read(); err != nil {
			t.Errorf("%s, asked again: %v", what, err)
		}
	}
}

func TestReadingWritesNothing(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	for _, read := range readers(c) {
		_, err := read()
		must(t, err)
	}
	if changes := c.Changes(); !reflect.DeepEqual(changes, model.Changes{}) {
		t.Errorf("changes: %+v", changes)
	}
}

func TestWritingReadsNothingThatItNeedNotCheck(t *testing.T) {
	t.Parallel()
	view := newChanging()
	c := newContext(view)
	must(t, c.SetUnitSettings(3, model.Settings{"a": "1"}))
	must(t, c.SetState(map[string]string{"a": "1"}))
	c.DeleteState("b")
	c.SetWorkloadVersion("1")
	c.Changes()
	if len(view.asked) > 0 {
		t.Errorf("asked for %v", view.asked)
	}
}

func TestWhatIsHandedOutCanBeChangedWithoutHarm(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	config, err := c.Config()
	must(t, err)
	settings, err := c.UnitSettings(3, "pg/0")
	must(t, err)
	state, err := c.State()
	must(t, err)
	config["n"], settings["n"], state["n"] = "x", "x", "x"
	must(t, c.SetState(map[string]string{"s": "1"}))
	*c.Changes().State["s"] = "x"

	again, err := c.Config()
	must(t, err)
	mustBe(t, "config", again["n"], any("1"))
	settings, err = c.UnitSettings(3, "pg/0")
	must(t, err)
	mustBe(t, "settings", settings["n"], "1")
	state, err = c.State()
	must(t, err)
	mustBe(t, "state", fmt.Sprint(state), "map[n:1 s:1]")
}

func TestAContextServesManyAtOnce(t *testing.T) {
	t.Parallel()
	view := newChanging() // its map isn't safe: the race detector watches
	c := newContext(view)
	var calls sync.WaitGroup
	for i := range 20 {
		calls.Add(1)
		go func() {
			defer calls.Done()
			for what, read := range readers(c) {
				if _, err := read(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := c.SetState(map[string]string{fmt.Sprint(i): "v"}); err != nil {
				t.Error(err)
			}
			c.Log("INFO", "x")
			c.Changes()
		}()
	}
	calls.Wait()
	mustBe(t, "keys written", len(c.Changes().State), 20)
}

func TestRebootNowWinsOverLater(t *testing.T) {
	t.Parallel()
	p := paramsOf(newChanging())
	calls := 0
	p.RebootNow = func() { calls++ }
	c := hookcontext.New(p)
	for _, now := range []bool{false, true, false} {
		must(t, c.Reboot(now))
	}
	mustBe(t, "reboot", c.Changes().Reboot, model.RebootNow)
	mustBe(t, "calls of RebootNow", calls, 1)

	p.NoReboot = hookcontext.NoRebootInAction
	mustFail(t, "in an action", hookcontext.New(p).Reboot(true), errors.NotSupported,
		"juju-reboot is not supported when running an action.")
}

func TestTheLogHasTheRelationInFront(t *testing.T) {
	t.Parallel()
	view := newChanging()
	p := paramsOf(view)
	hookcontext.New(p).Log("INFO", "plain")
	p.Hook = hooks.Info{Kind: hooks.RelationJoined, Endpoint: "db", RelationID: 3, RemoteUnit: "pg/0"}
	hookcontext.New(p).Log("DEBUG", "related")
	mustBe(t, "log", fmt.Sprint(view.log), "[INFO plain DEBUG db:3: related]")
}

func TestStatusIsSetAtOnceAndOnlyToWhatACharmCanSet(t *testing.T) {
	t.Parallel()
	view := newChanging()
	c := newContext(view)
	must(t, c.SetUnitStatus("active", "ok"))
	must(t, c.SetApplicationStatus("blocked", ""))
	mustBe(t, "set", fmt.Sprint(view.set), fmt.Sprint([]model.Status{{Status: "active", Message: "ok"}, {Status: "blocked"}}))
	mustFail(t, "error", c.SetUnitStatus("error", ""), errors.NotValid,
		`invalid status "error", expected one of [maintenance blocked waiting active]`)
	mustBe(t, "statuses set", len(view.set), 2)
}
