package state_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// ring is a host's keys for secrets: those that open, by name, of which the last one
// seals. What it seals begins with that name.
type ring struct {
	mu      sync.Mutex
	keys    []string
	sealing func() // before each
}

func (r *ring) add(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = append(r.keys, key)
}

func (r *ring) keep(key string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keys = []string{key}
}

func (r *ring) newest() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.keys) == 0 {
		return ""
	}
	return r.keys[len(r.keys)-1]
}

func (r *ring) has(key string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.keys, key)
}

func (r *ring) sealer() state.Sealer {
	newest := func() (string, error) {
		if r.newest() == "" {
			r.add("made")
		}
		return r.newest(), nil
	}
	return state.Sealer{
		Newest: newest,
		Opener: func(b []byte) (string, error) {
			key, _, _ := bytes.Cut(b, []byte(" "))
			if !r.has(string(key)) {
				return "", errors.New("no key fits")
			}
			return string(key), nil
		},
		Seal: func(b []byte, key string) ([]byte, string, error) {
			if key == "" {
				key, _ = newest()
			}
			if !r.has(key) {
				return nil, "", errors.NotFoundf("key")
			}
			if r.sealing != nil {
				r.sealing()
			}
			return fmt.Appendf(nil, "%s %s", key, b), key, nil
		},
		Open: func(b []byte) ([]byte, error) {
			key, plain, _ := bytes.Cut(b, []byte(" "))
			if !r.has(string(key)) {
				return nil, errors.New("no key fits")
			}
			return plain, nil
		},
	}
}

// withKeys is the model as a host with these keys has it.
func (s *secrets) withKeys(r *ring) *state.Model {
	return s.controller.WithSealer(r.sealer()).Open(state.ModelInfo{Name: s.Name(), UUID: s.UUID()})
}

// secretOf is a hook of mysql/0 that makes a secret, or changes it.
func secretOf(run int64, change model.SecretChange) state.HookCommit {
	return state.HookCommit{Unit: "mysql/0", Run: run, LeaveScope: model.NoRelation, Changes: model.Changes{Secrets: []model.SecretChange{change}}}
}

// TestACommitThatSealedBeforeTheKeyWasChanged: the hook's content is sealed with the old
// key, then all secrets are sealed with a new one, and then the hook is committed.
func TestACommitThatSealedBeforeTheKeyWasChanged(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	keys := &ring{keys: []string{"old"}}
	hooks, rotating := w.withKeys(keys), w.withKeys(keys)
	w.ok(hooks.CommitHook(w.ctx, secretOf(90, made("one"))))

	rotated := make(chan error, 1)
	var begun atomic.Bool
	keys.sealing = func() {
		if begun.Swap(true) {
			return
		}
		keys.add("new")
		go func() {
			err := rotating.UseNewestKey(w.ctx)
			if err == nil {
				_, err = rotating.SealAnew(w.ctx)
			}
			rotated <- err
		}()
		if etcdtest.OnEtcd() { // the other engine has one writer at a time, and rotating waits
			rotated <- <-rotated
		}
	}
	another := made("two")
	another.ID = secretTwo
	w.ok(hooks.CommitHook(w.ctx, secretOf(91, another)))
	w.ok(<-rotated)
	keys.keep("new")
	for id, want := range map[model.SecretID]string{secretOne: "one", secretTwo: "two"} {
		got, err := hooks.SecretContent(w.ctx, id, 0)
		w.ok(err)
		if got["token"] != want {
			t.Errorf("%s has %v", id, got)
		}
	}
}

func TestAHostWithAnotherKeySealsNothing(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	right, other, none := &ring{keys: []string{"right"}}, &ring{keys: []string{"other"}}, &ring{}
	w.ok(w.withKeys(right).CommitHook(w.ctx, secretOf(90, made("one"))))
	change := model.SecretChange{ID: secretOne, Content: content("two")}
	for name, keys := range map[string]*ring{"another key": other, "no key": none} {
		err := w.withKeys(keys).CommitHook(w.ctx, secretOf(91, change))
		if !errors.Is(err, state.ErrOtherKey) || !strings.Contains(err.Error(), "rotate-secret-key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if none.newest() != "" {
		t.Error("a key was made where the model has one")
	}
	if err := w.withKeys(other).HasKey(w.ctx); !errors.Is(err, state.ErrOtherKey) {
		t.Errorf("it has the key: %v", err)
	}
	w.ok(w.withKeys(right).HasKey(w.ctx))
	// The right one is lost.
	w.ok(w.withKeys(other).UseNewestKey(w.ctx))
	if _, err := w.withKeys(other).SealAnew(w.ctx); !errors.Is(err, state.ErrSealed) {
		t.Errorf("what is sealed with a lost key: %v", err)
	}
	w.ok(w.withKeys(other).CommitHook(w.ctx, secretOf(92, change)))
	if err := w.withKeys(right).CommitHook(w.ctx, secretOf(93, change)); !errors.Is(err, state.ErrOtherKey) {
		t.Errorf("the key that is no longer in use: %v", err)
	}
}

// TestWhoWaitsForKeysHoldsNobodyUp: others write meanwhile, also while somebody seals.
func TestWhoWaitsForKeysHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	keys := &ring{keys: []string{"a"}}
	there := false
	awaited := func(err error) error {
		if !there {
			return state.ErrKeysAwaited
		}
		return err
	}
	full := keys.sealer()
	soon := state.Sealer{
		Opener: full.Opener, Newest: full.Newest,
		Seal: func(b []byte, key string) ([]byte, string, error) {
			sealed, by, err := full.Seal(b, key)
			return sealed, by, awaited(err)
		},
		Open: func(b []byte) ([]byte, error) {
			plain, err := full.Open(b)
			return plain, awaited(err)
		},
		Await: func(context.Context) error {
			there = true
			return w.SetModelConfig(w.ctx, map[string]string{state.RetryHooks: "false"}, nil)
		},
	}
	full.Soon = &soon
	m := w.controller.WithSealer(full).Open(state.ModelInfo{Name: w.Name(), UUID: w.UUID()})
	w.ok(m.CommitHook(w.ctx, secretOf(90, made("one"))))
	there = false
	if got, err := m.SecretContent(w.ctx, secretOne, 0); err != nil || got["token"] != "one" {
		t.Errorf("it has %v, %v", got, err)
	}
	there, soon.Await = false, func(context.Context) error { return nil }
	m = w.controller.WithSealer(full).Open(state.ModelInfo{Name: w.Name(), UUID: w.UUID()})
	if _, err := m.SecretContent(w.ctx, secretOne, 0); !errors.Is(err, state.ErrKeysAwaited) || errors.Is(err, state.ErrSealed) {
		t.Errorf("where they don't come: %v", err)
	}
}

func TestTheFirstSecretMakesTheKey(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	keys := &ring{}
	w.ok(w.withKeys(keys).CommitHook(w.ctx, secretOf(90, made("one"))))
	got, err := w.withKeys(keys).SecretContent(w.ctx, secretOne, 0)
	w.ok(err)
	if got["token"] != "one" || keys.newest() != "made" {
		t.Errorf("it has %v, sealed with %q", got, keys.newest())
	}
}

func TestCredentialsOfTheControllerAreSealedWithTheKeyInUse(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	change := func(map[string]model.CloudCredentials) error { return nil }
	old, both := &ring{keys: []string{"old"}}, &ring{keys: []string{"old", "new"}}
	w.ok(w.controller.WithSealer(old.sealer()).ChangeCredentials(w.ctx, change))
	w.ok(w.controller.WithSealer(both.sealer()).SealAnew(w.ctx, false))
	if err := w.controller.WithSealer(old.sealer()).HasKey(w.ctx); !errors.Is(err, state.ErrOtherKey) {
		t.Errorf("a host without the new key: %v", err)
	}
	// Of a host with both the one in use seals.
	w.ok(w.controller.WithSealer((&ring{keys: []string{"new", "old"}}).sealer()).ChangeCredentials(w.ctx, change))
	both.keep("new")
	if _, err := w.controller.WithSealer(both.sealer()).Credentials(w.ctx); err != nil {
		t.Errorf("what was sealed anew: %v", err)
	}
	both.keep("other")
	if err := w.controller.WithSealer(both.sealer()).SealAnew(w.ctx, false); err == nil {
		t.Error("what can't be opened is dropped without being asked for")
	}
	w.ok(w.controller.WithSealer(both.sealer()).SealAnew(w.ctx, true))
	if all, err := w.controller.WithSealer(both.sealer()).Credentials(w.ctx); err != nil || len(all) != 0 {
		t.Errorf("with the key lost there are %v, %v", all, err)
	}
}

// TestAModelThatDoesNotSayItsKeyHasTheOneThatOpensIt, as one of before it was said.
func TestAModelThatDoesNotSayItsKeyHasTheOneThatOpensIt(t *testing.T) {
	t.Parallel()
	w := newSecrets(t)
	plain := (&ring{keys: []string{"old"}}).sealer()
	nameless := state.Sealer{Open: plain.Open, Seal: func(b []byte, _ string) ([]byte, string, error) {
		sealed, _, err := plain.Seal(b, "old")
		return sealed, "", err
	}}
	w.ok(w.controller.WithSealer(nameless).Open(state.ModelInfo{Name: w.Name(), UUID: w.UUID()}).CommitHook(w.ctx, secretOf(90, made("one"))))
	change := model.SecretChange{ID: secretOne, Content: content("two")}
	if err := w.withKeys(&ring{keys: []string{"other"}}).CommitHook(w.ctx, secretOf(91, change)); !errors.Is(err, state.ErrOtherKey) {
		t.Errorf("with a key that opens nothing: %v", err)
	}
	w.ok(w.withKeys(&ring{keys: []string{"old", "new"}}).CommitHook(w.ctx, secretOf(92, change)))
	got, err := w.withKeys(&ring{keys: []string{"old"}}).SecretContent(w.ctx, secretOne, 0)
	w.ok(err)
	if got["token"] != "two" {
		t.Errorf("it has %v", got)
	}
}
