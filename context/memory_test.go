package hookcontext_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"testing"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// handedOver is the context as another process has it.
func handedOver(t *testing.T, c *hookcontext.Context, view hookcontext.View) *hookcontext.Context {
	t.Helper()
	b, err := json.Marshal(c.Memory())
	must(t, err)
	var m hookcontext.Memory
	must(t, json.Unmarshal(b, &m))
	return hookcontext.Resume(paramsOf(view), m)
}

func TestWhatWasReadIsTheSameInAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, none := range []error{nil, errors.NotFoundf("it")} {
		view, first := newChanging(), map[string]string{}
		view.err = none
		c := newContext(view)
		for what, read := range readers(c) {
			value, err := read()
			first[what] = value + fmt.Sprint(err)
		}
		later := newChanging()
		later.asked["config"] = 17 // other answers than the first view's
		for what, read := range readers(handedOver(t, c, later)) {
			value, err := read()
			mustBe(t, what, value+fmt.Sprint(err), first[what])
		}
		delete(later.asked, "leader") // it is asked each time while the unit leads
		mustBe(t, "questions", fmt.Sprint(later.asked), "map[config:17]")
	}
}

func TestWhatWasWrittenIsTheSameInAnotherProcess(t *testing.T) {
	t.Parallel()
	c := newContext(newChanging())
	empty, label := "", "cert"
	must(t, c.SetUnitSettings(3, model.Settings{"a": "1", "gone": ""}))
	must(t, c.SetApplicationSettings(3, model.Settings{"b": "2"}))
	must(t, c.SetLeaderSettings(model.Settings{"l": "3"}))
	must(t, c.SetState(map[string]string{"k": "v", "nothing": empty}))
	c.DeleteState("old")
	must(t, c.OpenPort(model.PortRange{From: 80, To: 80, Protocol: "tcp"}, nil))
	id, err := c.AddSecret(model.OwnedByUnit, model.SecretChange{Label: &label, Content: model.SecretContent{"password": "s3cret"}})
	must(t, err)
	c.SetWorkloadVersion("")
	want := c.Changes()
	again := handedOver(t, c, newChanging())
	if got := again.Changes(); !reflect.DeepEqual(got, want) {
		t.Errorf("changes\n%#v\nwant\n%#v", got, want)
	}
	must(t, again.RemoveSecret(id, 0))
	mustBe(t, "secrets after the removal", len(again.Changes().Secrets), 0)
	mustBe(t, "of one more process", len(handedOver(t, again, newChanging()).Changes().Secrets), 0)
}

func TestOptionsKeepTheirTypesInAnotherProcess(t *testing.T) {
	t.Parallel()
	for _, v := range []any{"text", "", true, 7, int64(1) << 60, 1.5, nil} {
		b, err := json.Marshal(hookcontext.Scalar{Value: v})
		must(t, err)
		var s hookcontext.Scalar
		must(t, json.Unmarshal(b, &s))
		if !reflect.DeepEqual(s.Value, v) {
			t.Errorf("%T %v is %T %v", v, v, s.Value, s.Value)
		}
	}
}
