package hookcontext_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
)

func TestAnActionSaysWhatCameOfIt(t *testing.T) {
	t.Parallel()
	view := newChanging()
	p := paramsOf(view)
	p.Action = &hookcontext.Action{Name: "act", Params: map[string]any{"a": "b"}}
	c := hookcontext.New(p)
	params, err := c.ActionParams()
	must(t, err)
	params["a"] = "changed"
	if again, _ := c.ActionParams(); again["a"] != "b" {
		t.Errorf("the parameters are %v", again)
	}
	must(t, c.SetActionResult([]string{"a", "b"}, "1"))
	must(t, c.SetActionResult([]string{"a", "c", "d"}, "2"))
	must(t, c.SetActionResult([]string{"text"}, "x"))
	before := c.ActionOutcome()
	must(t, c.SetActionResult([]string{"a", "c"}, "text takes a map's place"))
	must(t, c.SetActionResult([]string{"text", "in"}, "a map takes a text's"))
	must(t, c.FailAction("why"))
	if want := map[string]any{"a": map[string]any{"b": "1", "c": map[string]any{"d": "2"}}, "text": "x"}; !reflect.DeepEqual(before.Results, want) || before.Failed {
		t.Errorf("before: %+v, want %v", before, want)
	}
	after := c.ActionOutcome()
	want := map[string]any{"a": map[string]any{"b": "1", "c": "text takes a map's place"}, "text": map[string]any{"in": "a map takes a text's"}}
	if !reflect.DeepEqual(after.Results, want) || !after.Failed || after.Message != "why" {
		t.Errorf("after: %+v, want %v", after, want)
	}
	must(t, c.LogAction("on its way"))
	mustBe(t, "the log", strings.Join(view.log, "\n"), "action on its way")
	err = c.SetActionResult([]string{"much"}, strings.Repeat("x", 300_000))
	mustFail(t, "too much", err, errors.QuotaLimitExceeded, "action results too large")
	if got := c.ActionOutcome().Results; !reflect.DeepEqual(got, want) {
		t.Errorf("what was refused has changed the results: %v", got)
	}
}

func TestAHookIsNoAction(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	_, err := c.ActionParams()
	for what, err := range map[string]error{
		"action-get": err, "action-set": c.SetActionResult([]string{"a"}, "b"), "action-fail": c.FailAction(""), "action-log": c.LogAction("x"),
	} {
		if err == nil || err.Error() != "not running an action" {
			t.Errorf("%s: %v", what, err)
		}
	}
}
