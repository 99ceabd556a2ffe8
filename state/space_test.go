package state_test

import (
	"fmt"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestABaseIsSetForAllOrForNobody(t *testing.T) {
	t.Parallel()
	base, err := model.ParseBase("ubuntu@22.04")
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	w.deploy(wordpress, 1)
	w.deploy(logging, 0)
	w.deploy(monitor, 0)
	w.enter("wordpress/0", w.relate("wordpress:juju-info", "logging:info"))
	w.relate("wordpress:juju-info", "monitor:watch")
	_, err = w.DestroyApplication(w.ctx, "logging")
	w.ok(err)
	w.is("the subordinate that is going", w.appLife("logging"), "dying")
	bases := func() string {
		text := ""
		for _, name := range []string{"wordpress", "logging", "monitor"} {
			app, err := w.Application(w.ctx, name)
			w.ok(err)
			text += fmt.Sprintf("%s=%s ", name, app.Base)
		}
		return text
	}
	before := bases()
	w.cutOff(0, func(m *state.Model) error { return m.SetBase(w.ctx, "wordpress", base) })
	w.is("cut off before", bases(), before)
	w.cutOff(1, func(m *state.Model) error { return m.SetBase(w.ctx, "wordpress", base) })
	w.is("cut off after a transaction", bases(), "wordpress=ubuntu@22.04 logging= monitor=ubuntu@22.04 ")
}
