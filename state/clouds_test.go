package state_test

import (
	"bytes"
	"testing"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state/store"
)

// Source: docs/spec/juju-clients.md §4.
func TestCredentialsAreSealedInTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first, err := w.controller.Identity(w.ctx)
	w.ok(err)
	w.ok(w.controller.ChangeCredentials(w.ctx, func(all map[string]model.CloudCredentials) error {
		all["aws"] = model.CloudCredentials{Credentials: map[string]model.Credential{
			"quay": {AuthType: "access-key", Details: map[string]string{"secret-key": "canary"}},
		}}
		return nil
	}))
	w.ok(w.controller.SealAnew(w.ctx, false))
	all, err := w.controller.Credentials(w.ctx)
	w.ok(err)
	if got := all["aws"].Credentials["quay"].Details["secret-key"]; got != "canary" {
		t.Errorf("read again it is %q", got)
	}
	_, err = w.store.View(w.ctx, func(r store.Reader) error {
		kvs, err := r.List("controller/")
		for _, kv := range kvs {
			if bytes.Contains(kv.Value, []byte("canary")) || bytes.Contains(kv.Value, []byte("Y2FuYXJ5")) {
				t.Errorf("%s is not sealed: %s", kv.Key, kv.Value)
			}
		}
		if len(kvs) == 0 {
			t.Error("nothing is stored")
		}
		return err
	})
	w.ok(err)
	if again, err := w.controller.Identity(w.ctx); err != nil || again.UUID != first.UUID || first.UUID == "" {
		t.Errorf("its UUID was %q, and is %q, %v", first.UUID, again.UUID, err)
	}
}
