package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/model"
)

// hostWith are the bases of a host that has these.
func hostWith(t *testing.T, may bool, works error, names ...string) *Roots {
	t.Helper()
	r := &Roots{store: bases.Store{Dir: t.TempDir()}, tried: map[string]error{}, may: may, try: func(string) error { return works }}
	for _, name := range names {
		dir := filepath.Join(r.store.Dir, name)
		if err := os.MkdirAll(filepath.Join(dir, "root"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, "base.json"), []byte("{}"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func TestMachinesAreOnABaseThatTheCharmNames(t *testing.T) {
	t.Parallel()
	jammy, noble, plain := base("ubuntu@22.04"), base("ubuntu@24.04"), model.Charm{Name: "c"}
	both := model.Charm{Name: "c", Bases: []model.Base{jammy, noble}}
	kube := model.Charm{Name: "c", Bases: both.Bases, Containers: map[string]model.ContainerSpec{"db": {}}}
	machine := model.Isolation{Mode: model.IsolateMachine}
	on, auto := model.Isolation{Mode: model.IsolateOn}, model.Isolation{Mode: model.IsolateAuto}
	for name, c := range map[string]struct {
		host           []string
		i              model.Isolation
		charm          model.Charm
		given, ofModel model.Base
		best, mayNot   bool
		works          error
		mode, on       string
		lacks, err     string
	}{
		"the first that is here":    {host: []string{"ubuntu@24.04"}, i: machine, charm: both, mode: model.IsolateMachine, on: "ubuntu@24.04"},
		"the preferred one":         {host: []string{"ubuntu@22.04", "ubuntu@24.04"}, i: machine, charm: both, mode: model.IsolateMachine, on: "ubuntu@22.04"},
		"the model's":               {host: []string{"ubuntu@22.04", "ubuntu@24.04"}, i: machine, charm: both, ofModel: noble, mode: model.IsolateMachine, on: "ubuntu@24.04"},
		"the given one alone":       {host: []string{"ubuntu@22.04"}, i: machine, charm: both, given: noble, err: "there is no base ubuntu@24.04 on this host: unitd base fetch ubuntu@24.04"},
		"none that the charm names": {host: []string{"debian@12"}, i: machine, charm: both, err: "there is no base ubuntu@22.04 on this host: unitd base fetch ubuntu@22.04"},
		"the only one":              {host: []string{"debian@12"}, i: machine, charm: plain, mode: model.IsolateMachine, on: "debian@12"},
		"one of several":            {host: []string{"debian@12", "debian@13"}, i: machine, charm: plain, err: `charm "c" names no base, and this host has debian@12, debian@13: choose one with --isolate-root`},
		"none at all":               {i: machine, charm: plain, err: "there is no base debian@12 on this host: unitd base fetch debian@12"},
		"a named root":              {i: model.Isolation{Mode: model.IsolateMachine, Root: "/r"}, charm: both, mode: model.IsolateMachine, on: "ubuntu@22.04"},
		"the best, with a base":     {host: []string{"ubuntu@24.04"}, i: on, best: true, charm: both, mode: model.IsolateMachine, on: "ubuntu@24.04"},
		"the best, without":         {i: on, best: true, charm: both, mode: model.IsolateOn, on: "ubuntu@22.04", lacks: "there is no base ubuntu@22.04 on this host: unitd base fetch ubuntu@22.04"},
		"the best, where it fails":  {host: []string{"ubuntu@24.04"}, i: on, best: true, works: errors.New("no room"), charm: both, mode: model.IsolateOn, on: "ubuntu@22.04", lacks: "no room"},
		"the best, with containers": {host: []string{"ubuntu@24.04"}, i: on, best: true, charm: kube, mode: model.IsolateOn, on: "ubuntu@22.04"},
		"the best, without rights":  {host: []string{"ubuntu@24.04"}, i: on, best: true, mayNot: true, charm: both, mode: model.IsolateOn, on: "ubuntu@22.04"},
		"auto":                      {host: []string{"ubuntu@24.04"}, i: auto, charm: both, mode: model.IsolateMachine, on: "ubuntu@24.04"},
		"told, so it is no machine": {host: []string{"ubuntu@24.04"}, i: on, charm: both, mode: model.IsolateOn, on: "ubuntu@22.04"},
		"a subordinate":             {host: []string{"ubuntu@24.04"}, i: on, best: true, charm: model.Charm{Name: "c", Subordinate: true, Bases: both.Bases}, mode: model.IsolateOn, on: "ubuntu@22.04"},
		"a subordinate, told":       {i: machine, charm: model.Charm{Name: "c", Subordinate: true, Bases: both.Bases}, on: "ubuntu@22.04"},
		"auto, told to be another":  {host: []string{"ubuntu@24.04"}, i: model.Isolation{Mode: model.IsolateAuto, OS: "ubuntu@20.04"}, charm: both, mode: model.IsolateAuto, on: "ubuntu@20.04"},
		"not isolated, so it isn't": {host: []string{"ubuntu@24.04"}, charm: both, best: true, on: "ubuntu@22.04"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, err := hostWith(t, !c.mayNot, c.works, c.host...).Settle(c.i, c.charm, c.given, c.ofModel, c.best)
			said := ""
			if err != nil {
				said = err.Error()
			}
			if said != c.err || s.Mode != c.mode || s.Base != c.on || s.Lacks != c.lacks {
				t.Errorf("got %+v, %q", s, said)
			}
			if err == nil && (c.mode == model.IsolateMachine) != (s.Root != "") {
				t.Errorf("the root is %q", s.Root)
			}
		})
	}
}

func base(text string) model.Base {
	b, _ := model.ParseBase(text)
	return b
}
