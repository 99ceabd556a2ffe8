package state_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// cluster has applications of container charms, without units.
func cluster(t *testing.T, apps ...string) *world {
	t.Helper()
	w := newWorld(t)
	for _, app := range apps {
		url := w.addCharm(model.Charm{Name: app, Containers: map[string]model.ContainerSpec{"c": {}}})
		w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: app, Charm: url}))
	}
	return w
}

// objects are the keys and values that the model has, and the revision of each.
func (w *world) objects() (texts string, revs map[string]int64) {
	w.Helper()
	c, err := w.Cluster(w.ctx)
	w.ok(err)
	revs = map[string]int64{}
	for _, o := range c.Objects {
		texts += o.Application + " " + o.Key + " " + string(o.Value) + "\n"
		revs[o.Key] = o.Rev
	}
	return texts, revs
}

func TestAnObjectIsWrittenInThePlaceOfTheOneThatWasRead(t *testing.T) {
	t.Parallel()
	w := cluster(t, "web", "db")
	put := func(key, value string, rev int64) error {
		o := state.Object{Key: key, Application: "web", Rev: rev}
		if value != "" {
			o.Value = []byte(value)
		}
		return w.PutObject(w.ctx, o)
	}
	w.ok(put("secrets/s", "hush", 0))
	if err := put("secrets/s", "again", 0); !errors.Is(err, state.ErrObjectChanged) {
		t.Errorf("made twice: %v", err)
	}
	_, revs := w.objects()
	first := revs["secrets/s"]
	w.ok(put("secrets/s", "hush-two", first))
	for _, value := range []string{"three", ""} {
		if err := put("secrets/s", value, first); !errors.Is(err, state.ErrObjectChanged) {
			t.Errorf("over a newer one: %v", err)
		}
	}
	if all, _ := w.objects(); all != "web secrets/s hush-two\n" {
		t.Errorf("there is %q", all)
	}
	if err := put("configmaps/c", strings.Repeat("x", store.MaxValue), 0); !errors.Is(err, store.ErrTooLarge) {
		t.Errorf("too large: %v", err)
	}
	if err := w.PutObject(w.ctx, state.Object{Key: "configmaps/c", Application: "nope", Value: []byte("x")}); !errors.Is(err, errors.NotFound) {
		t.Errorf("of no application: %v", err)
	}
	_, err := w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List("m/")
		for _, kv := range kvs {
			if bytes.Contains(kv.Value, []byte("hush")) {
				t.Errorf("%s has it in clear", kv.Key)
			}
		}
		return err
	})
	w.ok(err)
	n, err := w.SealAnew(w.ctx)
	w.ok(err)
	all, revs := w.objects()
	if n != 1 || all != "web secrets/s hush-two\n" {
		t.Errorf("%d sealed anew: %q", n, all)
	}
	w.ok(put("secrets/s", "", revs["secrets/s"]))
	if all, _ := w.objects(); all != "" {
		t.Errorf("there is %q", all)
	}
}

func TestObjectsGoWithTheirApplication(t *testing.T) {
	t.Parallel()
	w := cluster(t, "web", "db")
	for _, o := range []state.Object{
		{Key: "configmaps/a", Application: "web"}, {Key: "configmaps/b", Application: "db"}, {Key: "services/a", Application: "web"},
	} {
		o.Value = []byte("v")
		w.ok(w.PutObject(w.ctx, o))
	}
	watched, err := w.Watch(w.ctx, 0)
	w.ok(err)
	_, err = w.DestroyApplication(w.ctx, "web")
	w.ok(err)
	const rest = "db configmaps/b v\n"
	if all, _ := w.objects(); all != rest {
		t.Errorf("without it there is %q", all)
	}
	url := w.addCharm(model.Charm{Name: "web2", Containers: map[string]model.ContainerSpec{"c": {}}})
	w.ok(w.Deploy(w.ctx, state.DeployArgs{Application: "web", Charm: url}))
	if all, _ := w.objects(); all != rest {
		t.Errorf("another one of its name has %q", all)
	}
	// A name is free at once, whatever the queue still has to do.
	w.ok(w.PutObject(w.ctx, state.Object{Key: "configmaps/a", Application: "web", Value: []byte("new")}))
	w.ok(w.RunCleanups(w.ctx))
	if all, _ := w.objects(); all != "web configmaps/a new\n"+rest {
		t.Errorf("once it is cleaned up there is %q", all)
	}
	told := false
	for c := range watched {
		if told = told || c.Objects; told {
			break
		}
	}
}

// TestAChangedTemplateIsAnotherPod: what a charm patches of its pods' template reaches
// its units as another image does.
func TestAChangedTemplateIsAnotherPod(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.deploySidecar(2)
	w.takeOn("web/0", "web/1")
	for _, u := range []model.UnitName{"web/0", "web/1"} {
		w.ok(w.TellPod(w.ctx, u, 0, true))
	}
	changed, none := "changed", ""
	put := func(template *string) {
		t.Helper()
		_, revs := w.objects()
		w.ok(w.PutObject(w.ctx, state.Object{Key: "statefulsets/web", Application: "web", Value: []byte("v"), Rev: revs["statefulsets/web"], Template: template}))
	}
	put(&none)
	w.rollOut(false, "0:0 1:0")
	put(&changed)
	put(nil)
	w.rollOut(true, "0:0 1:1")
	w.ok(w.TellPod(w.ctx, "web/1", 1, true))
	put(&none) // before the turn of the other one
	w.rollOut(true, "0:0 1:2")
	w.ok(w.TellPod(w.ctx, "web/1", 2, true))
	w.rollOut(false, "0:0 1:2")
}
