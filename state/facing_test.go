package state_test

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestAMachineFacesIsolatedUnitsThatItsUnitsAreRelatedTo(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		mode string // in which mysql is isolated
		// sides are the relations that are made, their principals enter them.
		sides [][2]string
		want  bool
	}{
		{"no relation", model.IsolateOn, nil, false},
		{"to isolated units", model.IsolateOn, [][2]string{{"wordpress", "mysql"}}, true},
		{"to isolated units without a network of their own", model.IsolateFiles, [][2]string{{"wordpress", "mysql"}}, false},
		{"to units that share the host", "", [][2]string{{"wordpress", "mysql"}}, false},
		{"a subordinate's, to isolated units", model.IsolateOn, [][2]string{{"wordpress:juju-info", "monitor:watch"}, {"monitor:db", "mysql"}}, true},
		{"a subordinate, whose other units are in isolated machines", model.IsolateOn, [][2]string{{"wordpress:juju-info", "logging:info"}, {"mysql:juju-info", "logging:info"}}, false},
		{"to a subordinate that is in isolated machines", model.IsolateOn, [][2]string{{"mysql:juju-info", "logging:info"}, {"wordpress:sink", "logging:logs"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.deploy(wordpress+" sink=requirer:logs", 1)
			w.deploy(monitor, 0)
			w.deploy(logging, 0)
			url := w.addCharm(charm(mysql))
			w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "mysql", Charm: url, Units: 1, Isolation: model.Isolation{Mode: c.mode}}))
			for _, s := range c.sides {
				id := w.relate(s[0], s[1])
				first, _, _ := strings.Cut(s[0], ":")
				w.enter(model.NewUnitName(first, 0), id)
			}
			faces, err := w.Faces(w.ctx, "0")
			w.ok(err)
			if faces != c.want {
				t.Errorf("faces: %v", faces)
			}
		})
	}
	w := newWorld(t)
	if faces, err := w.Faces(w.ctx, "7"); faces || err != nil {
		t.Errorf("a machine that isn't there: %v, %v", faces, err)
	}
}
