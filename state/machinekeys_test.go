package state_test

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// keyBox stands for the keys that seal secrets: what they are called, and that they are sealed for
// a recipient. What is sealed begins with the name of the keys; the ones before still open it.
type keyBox struct{ name, former string }

func (k *keyBox) Which() (string, error) { return k.name, nil }

func (k *keyBox) For(recipient string) ([]byte, error) {
	if strings.HasPrefix(recipient, "bad") {
		return nil, errors.NotValidf("recipient")
	}
	return []byte(k.name + " for " + recipient), nil
}

func (k *keyBox) sealer() state.Sealer {
	return state.Sealer{
		Seal: func(b []byte) ([]byte, error) { return append([]byte(k.name+":"), b...), nil },
		Open: func(b []byte) ([]byte, error) {
			name, plain, _ := bytes.Cut(b, []byte(":"))
			if s := string(name); s != k.name && s != k.former {
				return nil, errors.New("it was sealed with another key")
			}
			return plain, nil
		},
		Give: k,
	}
}

// keeper is the world's model as who has the keys has it.
func (w *world) keeper(k *keyBox) *state.Model {
	w.Helper()
	m, err := w.controller.WithSealer(k.sealer()).Model(w.ctx, w.Name())
	w.ok(err)
	return m
}

// addWithKeys adds a machine by who has the keys.
func (w *world) addWithKeys(m *state.Model) state.Token {
	w.Helper()
	_, text, err := m.AddMachine(w.ctx, state.ManualProvider, time.Hour)
	w.ok(err)
	token, err := state.ParseToken(text)
	w.ok(err)
	return token
}

// give has the manager give the keys, and fails the test if it refuses any.
func (w *world) give(m *state.Model) {
	w.Helper()
	refused, err := m.GiveKeys(w.ctx)
	w.ok(err)
	for _, why := range refused {
		w.Error(why)
	}
}

// given are the keys that a machine has been given, as they are sealed.
func (w *world) given(machine string) string {
	w.Helper()
	keys, err := w.GivenKeys(w.ctx, machine)
	w.ok(err)
	return string(keys)
}

func TestAMachineThatJoinsIsGivenTheKeys(t *testing.T) {
	t.Parallel()
	w, box := newWorld(t), &keyBox{name: "first"}
	m := w.keeper(box)
	token := w.addWithKeys(m)
	w.give(m) // nobody has asked for them
	if _, err := w.GivenKeys(w.ctx, token.Machine); !errors.Is(err, errors.NotFound) {
		t.Errorf("before it has joined: %v", err)
	}
	w.ok(w.JoinMachine(w.ctx, token, "agent", "host", "age1host"))

	// Whoever waits has them once they are given.
	got := make(chan string)
	go func() { got <- w.given(token.Machine) }()
	w.give(m)
	if keys := <-got; keys != "first for age1host" {
		t.Errorf("given: %q", keys)
	}

	// Other keys are given in their place, also to a machine that is yet to join.
	later := w.addWithKeys(m)
	*box = keyBox{name: "second", former: "first"}
	w.give(m)
	*box = keyBox{name: "third", former: "second"}
	w.give(m)
	w.ok(w.JoinMachine(w.ctx, later, "agent2", "host2", "age1host2"))
	w.give(m)
	if a, b := w.given(token.Machine), w.given(later.Machine); a != "third for age1host" || b != "third for age1host2" {
		t.Errorf("given: %q, %q", a, b)
	}
	before, err := w.Rev(w.ctx)
	w.ok(err)
	w.give(m)
	if after, err := w.Rev(w.ctx); err != nil || after != before {
		t.Errorf("they are given again: %d, then %d, %v", before, after, err)
	}

	// They go with the machine.
	w.ok(w.ForceDestroyMachine(w.ctx, later.Machine))
	w.ok(w.RemoveMachine(w.ctx, later.Machine))
	if _, err := w.GivenKeys(w.ctx, later.Machine); !errors.Is(err, errors.NotFound) {
		t.Errorf("after it was removed: %v", err)
	}
}

// TestKeysAreNotGivenWithoutTheToken: to whoever may write the documents of the model, and makes a
// machine ask for them, or puts itself in the place of one that has.
func TestKeysAreNotGivenWithoutTheToken(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name   string
		change func(doc map[string]any)
		why    string
	}{
		{"another recipient", func(doc map[string]any) { doc["recipient"] = "age1thief" }, "who asks for them hasn't had its token"},
		{"no proof", func(doc map[string]any) { delete(doc, "proof") }, "who asks for them hasn't had its token"},
		{"a check of one's own", func(doc map[string]any) { doc["check"] = []byte("mine:" + strings.Repeat("x", 32)) }, "cannot open what its token is checked by"},
		{"what is no recipient", func(doc map[string]any) { doc["recipient"] = "bad" }, "who asks for them hasn't had its token"},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			w, box := newWorld(t), &keyBox{name: "first"}
			m := w.keeper(box)
			token, other := w.addWithKeys(m), w.addWithKeys(m)
			w.ok(w.JoinMachine(w.ctx, token, "agent", "host", "age1host"))
			w.ok(w.JoinMachine(w.ctx, other, "agent2", "host2", "age1host2"))
			w.forge("machine-keys/"+token.Machine, row.change)
			refused, err := m.GiveKeys(w.ctx)
			w.ok(err)
			if len(refused) != 1 || !strings.Contains(refused[0].Error(), "machine "+token.Machine+" isn't given the keys for secrets: "+row.why) {
				t.Errorf("refused: %v", refused)
			}
			if keys := w.given(other.Machine); keys != "first for age1host2" {
				t.Errorf("the other machine is given %q", keys)
			}
			ctx, stop := context.WithCancel(w.ctx)
			stop()
			if keys, err := w.GivenKeys(ctx, token.Machine); err == nil {
				t.Errorf("given: %q", keys)
			}
		})
	}
}

// TestAProofIsOfOneMachine: that of one machine gets nothing for another.
func TestAProofIsOfOneMachine(t *testing.T) {
	t.Parallel()
	w, box := newWorld(t), &keyBox{name: "first"}
	m := w.keeper(box)
	token, other := w.addWithKeys(m), w.addWithKeys(m)
	w.ok(w.JoinMachine(w.ctx, token, "agent", "host", "age1host"))
	var doc map[string]any
	w.forge("machine-keys/"+token.Machine, func(d map[string]any) { doc = d })
	w.forge("machine-keys/"+other.Machine, func(d map[string]any) {
		for k, v := range doc {
			d[k] = v
		}
		delete(d, "of")
	})
	refused, err := m.GiveKeys(w.ctx)
	w.ok(err)
	if len(refused) != 1 || !strings.Contains(refused[0].Error(), "machine "+other.Machine) {
		t.Errorf("refused: %v", refused)
	}
}

// TestNoKeysAreGivenBesideTheStore: who finds the keys beside the store isn't given any.
func TestNoKeysAreGivenBesideTheStore(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id, token := w.addMachine()
	w.ok(w.join(token, "agent"))
	w.give(w.Model)
	if _, err := w.GivenKeys(w.ctx, id); !errors.Is(err, errors.NotFound) {
		t.Errorf("given: %v", err)
	}
}

// forge changes a document as somebody would who may write to the store.
func (w *world) forge(key string, change func(doc map[string]any)) {
	w.Helper()
	prefix, _, _, _, _ := w.Keys()
	_, err := state.Checked(w.store).Update(w.ctx, func(tx store.Tx) error {
		kv, err := tx.Get(prefix + key)
		if err != nil {
			return err
		}
		var doc map[string]any
		if err := json.Unmarshal(kv.Value, &doc); err != nil {
			return err
		}
		change(doc)
		b, err := json.Marshal(doc)
		if err != nil {
			return err
		}
		return tx.Put(kv.Key, b)
	})
	w.ok(err)
}
