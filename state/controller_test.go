package state_test

import (
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

func TestAddModel(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, model, want string
		is                error
	}{
		{name: "a model begins alive and empty", model: "second"},
		{name: "a name may have digits and hyphens", model: "2nd-shop"},
		{name: "a name in use is refused", model: "shop", is: errors.AlreadyExists,
			want: `failed to create new model: model "shop" for admin already exists (already exists)`},
		{name: "a name with other characters is refused", model: "X_y", is: errors.NotValid,
			want: `"X_y" is not a valid name: model names may only contain lowercase letters, digits and hyphens`},
		{name: "a model needs a name", model: "", is: errors.NotValid,
			want: `"" is not a valid name: model names may only contain lowercase letters, digits and hyphens`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			m, err := w.controller.AddModel(w.ctx, tt.model)
			if tt.is != nil {
				w.fails(err, tt.want)
				if !errors.Is(err, tt.is) {
					t.Errorf("error is not %v", tt.is)
				}
				return
			}
			w.ok(err)
			info, err := m.Info(w.ctx)
			w.ok(err)
			want := state.ModelInfo{Name: tt.model, UUID: m.UUID(), Created: w.clock.Now()}
			if info != want {
				t.Errorf("got %+v, want %+v", info, want)
			}
		})
	}
}

func TestModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	_, err := w.controller.AddModel(w.ctx, "art")
	w.ok(err)

	infos, err := w.controller.Models(w.ctx)
	w.ok(err)
	if len(infos) != 2 || infos[0].Name != "art" || infos[1].Name != "shop" {
		t.Errorf("models are not listed by name: %+v", infos)
	}
	m, err := w.controller.Model(w.ctx, "shop")
	w.ok(err)
	if m.UUID() != w.UUID() {
		t.Errorf("opened %s, want %s", m.UUID(), w.UUID())
	}
	_, err = w.controller.Model(w.ctx, "nowhere")
	if !errors.Is(err, errors.NotFound) {
		t.Errorf("a model that isn't there: %v", err)
	}
}

func TestModelsAreApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other, err := w.controller.AddModel(w.ctx, "art")
	w.ok(err)
	w.deploy(mysql, 1)
	if _, err := other.Application(w.ctx, "mysql"); !errors.Is(err, errors.NotFound) {
		t.Errorf("an application of one model is seen in another: %v", err)
	}
	w.ok(other.Destroy(w.ctx, true))
	if gone, err := other.RemoveIfEmpty(w.ctx); !gone || err != nil {
		t.Fatalf("removed %v, %v", gone, err)
	}
	if _, err := w.Unit(w.ctx, "mysql/0"); err != nil {
		t.Errorf("removing one model took a unit of another: %v", err)
	}
}

func TestDestroyModel(t *testing.T) {
	t.Parallel()
	gone := func(w *world) bool {
		w.Helper()
		done, err := w.RemoveIfEmpty(w.ctx)
		w.ok(err)
		return done
	}

	t.Run("a model that is alive is never removed, however empty", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		if gone(w) {
			t.Error("it was removed")
		}
	})

	t.Run("a dying model takes no applications and no relations", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.deploy(wordpress, 1)
		w.ok(w.SetDeployed(w.ctx, "mysql/0"))
		w.ok(w.SetDeployed(w.ctx, "wordpress/0"))
		w.ok(w.Destroy(w.ctx, false))
		url := w.addCharm(charm("cache store=provider:memcache"))
		w.fails(w.Deploy(w.ctx, state.DeployArgs{Application: "cache", Charm: url}), `model "shop" is being destroyed`)
		_, err := w.AddRelation(w.ctx, "wordpress", "mysql")
		w.fails(err, `model "shop" is being destroyed`)
	})

	t.Run("a dying model is removed once its last unit is", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 1)
		w.ok(w.SetDeployed(w.ctx, "mysql/0"))
		w.ok(w.Destroy(w.ctx, false))
		if info, err := w.Info(w.ctx); err != nil || info.Life != model.Dying {
			t.Fatalf("model is %v, %v", info.Life, err)
		}
		if gone(w) {
			t.Fatal("it was removed with a unit in it")
		}
		w.ok(w.SetDying(w.ctx, "mysql/0"))
		w.ok(w.SetDead(w.ctx, "mysql/0"))
		w.ok(w.RemoveUnit(w.ctx, "mysql/0"))
		if !gone(w) {
			t.Fatal("it wasn't removed when empty")
		}
		if _, err := w.Info(w.ctx); !errors.Is(err, errors.NotFound) {
			t.Errorf("its document is still there: %v", err)
		}
		if !gone(w) {
			t.Error("removing it again isn't the same as having removed it")
		}
	})

	t.Run("force needs no agent", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 2)
		w.deploy(wordpress, 1)
		w.deploy(logging, 0)
		rel := w.relate("wordpress:db", "mysql")
		info := w.relate("wordpress", "logging:info")
		w.enter("mysql/0", rel)
		w.enter("mysql/1", rel)
		w.enter("wordpress/0", rel, info)
		w.enter("logging/0", info)
		w.ok(w.Destroy(w.ctx, true))
		w.check()
		if !gone(w) {
			t.Error("something is left")
		}
	})

	t.Run("no document of a removed model is left, nor its name taken", func(t *testing.T) {
		t.Parallel()
		w := newWorld(t)
		w.deploy(mysql, 20)
		w.ok(w.SetModelConfig(w.ctx, map[string]string{"http-proxy": "http://p"}, nil))
		w.ok(w.Destroy(w.ctx, true))
		if !gone(w) {
			t.Fatal("it wasn't removed")
		}
		if keys := w.keys("m/" + w.UUID() + "/"); len(keys) > 0 {
			t.Errorf("documents left: %v", keys)
		}
		again, err := w.controller.AddModel(w.ctx, "shop")
		w.ok(err)
		if again.UUID() == w.UUID() {
			t.Error("the new model has the old one's id")
		}
		// The handle on the old model must not reach the new one.
		if err := w.Destroy(w.ctx, true); !errors.Is(err, errors.NotFound) {
			t.Errorf("destroying the old model again: %v", err)
		}
		if _, err := w.RemoveIfEmpty(w.ctx); err != nil {
			t.Error(err)
		}
		if info, err := again.Info(w.ctx); err != nil || info.Life != model.Alive {
			t.Errorf("the new model is %v, %v", info.Life, err)
		}
	})
}

func TestControllerWatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ch, err := w.controller.Watch(t.Context(), 0)
	w.ok(err)
	_, err = w.controller.AddModel(w.ctx, "art")
	w.ok(err)
	select {
	case b := <-ch:
		if len(b.Events) != 1 || b.Events[0].Key != "models/art" {
			t.Errorf("told of %+v", b)
		}
	case <-time.After(5 * time.Minute):
		t.Error("not told of a new model")
	}
}
