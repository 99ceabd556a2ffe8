package state_test

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/state/store/sqlite"
)

// lived is a model in which much has happened: documents of former units of the
// same names, work in the cleanup queue, a leader, statuses, secrets, storage.
func lived(t *testing.T) *world {
	t.Helper()
	w, _ := pair(t)
	w.deploy(logging, 0)
	id := w.relate("wordpress", "logging:info")
	w.enter("wordpress/0", id)
	for n, message := range []string{"one", "two", "three"} {
		w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "mysql/0", status("maintenance", message)))
		w.clock.advance(time.Duration(n+1) * time.Minute)
	}
	w.ok(w.CommitHook(w.ctx, state.HookCommit{Unit: "mysql/0", Run: 3, LeaveScope: model.NoRelation, Changes: model.Changes{
		State:          map[string]*string{"k": ptr("v")},
		LeaderSettings: model.Settings{"a": "1"},
	}}))
	// Whoever comes after it has its name, and not its history.
	w.deploy("haproxy", 1)
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "haproxy/0", status("maintenance", "the former one")))
	w.ok(w.ForceRemoveUnit(w.ctx, "haproxy/0"))
	_, err := w.DestroyApplication(w.ctx, "haproxy")
	w.ok(err)
	w.deploy("haproxy", 1)
	w.ok(w.SetStatus(w.ctx, state.WorkloadStatus, "haproxy/0", status("maintenance", "the later one")))
	return w
}

// documentsOf are the model's documents but for those of agents that run.
func documentsOf(t *testing.T, s store.Store, m *state.Model) map[string]string {
	t.Helper()
	docs := map[string]string{}
	if _, err := s.View(t.Context(), func(r store.Reader) error {
		kvs, err := r.List("m/" + m.UUID() + "/")
		for _, kv := range kvs {
			docs[kv.Key[len("m/"+m.UUID()+"/"):]] = string(kv.Value)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	for key := range docs {
		for _, of := range []string{"leader/", "presence/", "mark", "ask-settled", "settled", "cleanup/"} {
			if strings.HasPrefix(key, of) {
				delete(docs, key)
			}
		}
	}
	return docs
}

func exported(t *testing.T, m *state.Model) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := m.Export(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHostAModelMovesBetweenEnginesWhole(t *testing.T) {
	t.Parallel()
	w := lived(t)
	host, err := w.Machine(w.ctx, "0")
	w.ok(err)
	w.ok(w.SetMachine(w.ctx, host)) // so that it doesn't change when its agent appears
	before, err := w.Status(w.ctx)
	w.ok(err)
	docs := documentsOf(t, w.store, w.Model)
	lease, err := w.store.Grant(w.ctx, time.Hour) // of an agent, who isn't moved
	w.ok(err)
	w.ok(w.Appear(w.ctx, lease, host))
	file := exported(t, w.Model)
	for _, open := range []func() store.Store{
		func() store.Store { return etcdtest.OpenURL(t, etcdtest.Alone(t)) },
		func() store.Store {
			s, err := sqlite.Open(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
			w.ok(err)
			return s
		},
	} {
		s := open()
		t.Cleanup(func() { s.Close() })
		c := state.NewController(s, w.clock).WithSealer(backwards())
		m, err := c.Import(w.ctx, bytes.NewReader(file), false)
		w.ok(err)
		if got := documentsOf(t, s, m); !reflect.DeepEqual(got, docs) {
			t.Errorf("%d documents have come, of %d", len(got), len(docs))
		}
		for _, url := range []string{"local:mysql-0", "local:wordpress-0"} {
			var was, is bytes.Buffer
			w.ok(w.CharmContent(w.ctx, url, &was))
			w.ok(m.CharmContent(w.ctx, url, &is))
			if is.String() != was.String() || was.Len() == 0 {
				t.Errorf("the archive of %s has %d bytes, had %d", url, is.Len(), was.Len())
			}
		}
		after, err := m.Status(w.ctx)
		w.ok(err)
		if got, want := shown(t, after), shown(t, before); got != want {
			t.Errorf("its status is\n%s\nwas\n%s", got, want)
		}
		history := func(m *state.Model) []model.Status {
			h, err := m.StatusHistory(w.ctx, state.WorkloadStatus, "haproxy/0")
			w.ok(err)
			return h
		}
		if got, want := history(m), history(w.Model); !reflect.DeepEqual(got, want) || len(want) != 2 {
			t.Errorf("a unit's history is %v, was %v", got, want)
		}
		// The queue goes on here, and deletes what it would have deleted there.
		w.ok(m.RunCleanups(w.ctx))
		if got := history(m); len(got) != 2 {
			t.Errorf("then the unit's history is %v", got)
		}
		problems, err := statetest.Problems(w.ctx, s, m.UUID(), true)
		w.ok(err)
		for _, p := range problems {
			t.Errorf("self-check: %s", p)
		}
		if _, err := c.Import(w.ctx, bytes.NewReader(file), false); !errors.Is(err, errors.AlreadyExists) {
			t.Errorf("importing it twice gives %v", err)
		}
	}
	w.ok(w.RunCleanups(w.ctx))
}

// shown is a status without what depends on the store and on agents that run.
func shown(t *testing.T, s *state.FullStatus) string {
	t.Helper()
	clone := *s
	clone.Rev = 0
	b, err := json.Marshal(clone)
	if err != nil {
		t.Fatal(err)
	}
	var doc any
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	forget(doc)
	b, err = json.MarshalIndent(doc, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// forget removes what is said of leaders.
func forget(doc any) {
	switch d := doc.(type) {
	case map[string]any:
		delete(d, "Leader")
		for _, v := range d {
			forget(v)
		}
	case []any:
		for _, v := range d {
			forget(v)
		}
	}
}

func TestWhatIsNoWholeExportedModelIsntImported(t *testing.T) {
	t.Parallel()
	w := lived(t)
	file := exported(t, w.Model)
	lines := bytes.SplitAfter(file, []byte("\n"))
	damaged := bytes.Replace(file, []byte(`"key":"unit/mysql/0","value":"e`), []byte(`"key":"unit/mysql/0","value":"f`), 1)
	if bytes.Equal(damaged, file) {
		t.Fatal("nothing was damaged")
	}
	for _, tt := range []struct {
		name, want string
		file       []byte
	}{
		{"nothing", "it is no exported model", nil},
		{"something else", "it is no exported model", []byte("{}\n")},
		{"a newer one", "it was exported by a newer unitd (format 3, this one knows 2)", bytes.Replace(file, []byte(`"unitd-model":2`), []byte(`"unitd-model":3`), 1)},
		{"one without its end", `cannot import model "shop": it isn't whole: its end is missing`, bytes.Join(lines[:len(lines)-2], nil)},
		{"one without a line", `cannot import model "shop": it isn't whole, or damaged: what was read doesn't add up to what was exported`,
			append(bytes.Join(lines[:3], nil), bytes.Join(lines[4:], nil)...)},
		{"a damaged one", `cannot import model "shop": it isn't whole, or damaged: what was read doesn't add up to what was exported`, damaged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := etcdtest.Open(t, filepath.Join(t.TempDir(), "store.db"))
			defer s.Close()
			_, err := state.NewController(s, w.clock).Import(t.Context(), bytes.NewReader(tt.file), false)
			if err == nil || err.Error() != tt.want {
				t.Errorf("it gives %v, want %s", err, tt.want)
			}
			if _, err := s.View(t.Context(), func(r store.Reader) error {
				kvs, err := r.List("m")
				if len(kvs) > 0 {
					t.Errorf("it has left %d documents", len(kvs))
				}
				return err
			}); err != nil {
				t.Fatal(err)
			}
		})
	}
}
