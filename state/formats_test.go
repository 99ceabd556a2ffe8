package state_test

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/sealed"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/statetest"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/state/store/sqlite"
)

// kept are the stores that testdata/formats has, with the digest of the one model
// in each, as the program that wrote it has exported it.
var kept = []struct {
	format, engine, digest string
}{
	{"1", "sqlite", "89579c533d7a3ab06c0b21bc35f2ae795df03d165ef0ef47063019061f6671e1"},
	{"1", "etcd", "30cf959d9da2b3aa46a5b9f1fd92e63097d2451d77da75837e7d80b6ecff83b1"},
	{"2", "sqlite", "4234a917cc94bb1f10c1995942b60cb9d293c67f97d978a166438c5460f9a1c6"},
	{"2", "etcd", "8b4e66fc0ad1ecb52bea356214e3aef88edeb907cbca06e32b175f3cd7cee840"},
	{"3", "sqlite", "e1ab8701f52e4a99b3b8e31f7658236c96a8c35ec1675a4c8b33a40760a5a6c7"},
	{"3", "etcd", "1f20e455f9a9963d5e48af5413787a547256c19326171c978224b3960e677097"},
}

// openKept opens a copy of a store that testdata/formats has.
func openKept(t *testing.T, format, engine string) store.Store {
	t.Helper()
	if engine == "etcd" {
		f, err := os.Open("testdata/formats/" + format + ".etcd.jsonl")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		url := etcdtest.URL(t)
		etcdtest.Load(t, url, f)
		s := etcdtest.OpenURL(t, url)
		t.Cleanup(func() { s.Close() })
		return s
	}
	f, err := os.Open("testdata/formats/" + format + ".db.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "store.db")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// rawDocuments are the values of a store as its engine has them.
func rawDocuments(t *testing.T, s store.Store) map[string]string {
	t.Helper()
	docs := map[string]string{}
	_, err := s.View(t.Context(), func(r store.Reader) error {
		kvs, err := r.List("m/")
		for _, kv := range kvs {
			docs[kv.Key] = string(kv.Value)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

func TestStoresOfEachFormatAreOpened(t *testing.T) {
	t.Parallel()
	openKeptIn(t, "sqlite")
}

func TestHostStoresOfEachFormatInEtcdAreOpened(t *testing.T) {
	t.Parallel()
	openKeptIn(t, "etcd")
}

// openKeptIn reads all of an engine, changes something, and looks which documents
// have a checksum then: those that were written, and no others of format 1.
func openKeptIn(t *testing.T, engine string) {
	for _, k := range kept {
		if k.engine != engine {
			continue
		}
		t.Run(k.format, func(t *testing.T) {
			t.Parallel()
			s := openKept(t, k.format, k.engine)
			key, err := os.ReadFile("testdata/formats/secret.key")
			if err != nil {
				t.Fatal(err)
			}
			keys, err := sealed.Parse(string(key))
			if err != nil {
				t.Fatal(err)
			}
			c := state.NewController(s, clock.WallClock).WithSealer(statetest.Sealer(keys))
			m, err := c.Model(t.Context(), "default")
			if err != nil {
				t.Fatal(err)
			}
			if got := exportedDigest(t, m); got != k.digest {
				t.Errorf("the digest of its documents is %s, want %s", got, k.digest)
			}
			readKept(t, m)
			before := rawDocuments(t, s)
			if err := m.SetConfig(t.Context(), "site", map[string]string{"size": "8"}, nil); err != nil {
				t.Fatal(err)
			}
			config := "m/" + m.UUID() + "/config/site"
			for key, value := range rawDocuments(t, s) {
				sum := len(value) - len(strings.TrimRight(value, " \t"))
				if written := key == config || k.format != "1"; written != (sum > 0) {
					t.Errorf("%s has a checksum of %d bytes", key, sum)
				}
				if key != config && value != before[key] {
					t.Errorf("%s was written", key)
				}
			}
			moveHistory(t, s, m, k.engine)
		})
	}
}

// exportedDigest is what the last line of an export says.
func exportedDigest(t *testing.T, m *state.Model) string {
	t.Helper()
	var b strings.Builder
	if err := m.Export(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	var last struct{ Digest string }
	lines := bufio.NewScanner(strings.NewReader(b.String()))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if err := json.Unmarshal(lines.Bytes(), &last); err != nil {
			t.Fatal(err)
		}
	}
	return last.Digest
}

// readKept reads what make.sh has put into a model.
func readKept(t *testing.T, m *state.Model) {
	t.Helper()
	ctx := context.Background()
	config, err := m.Config(ctx, "site")
	if err != nil || config.Values["title"] != "A small site" || config.Values["size"] != int64(7) {
		t.Errorf("the configuration is %v (%v)", config.Values, err)
	}
	for _, unit := range []string{"db/0", "site/0", "site/1"} {
		snapshot, err := m.Snapshot(ctx, model.UnitName(unit))
		if err != nil || snapshot.Unit.Run == 0 || len(snapshot.Relations) == 0 {
			t.Errorf("%s: %v", unit, err)
		}
	}
	secret, err := m.FindSecret(ctx, "token")
	if err != nil {
		t.Fatal(err)
	}
	if content, err := m.SecretContent(ctx, secret.ID, 1); err != nil || content["value"] != "czNjcmV0" {
		t.Errorf("the secret is %v (%v)", content, err)
	}
	if task, err := m.Task(ctx, "2"); err != nil || task.Action != "greet" {
		t.Errorf("the task is %v (%v)", task, err)
	}
	charm, err := m.Charm(ctx, "local:site-0")
	if err != nil {
		t.Fatal(err)
	}
	if err := m.FileContent(ctx, state.File{SHA256: charm.SHA256, Size: charm.Size}, io.Discard); err != nil {
		t.Error(err)
	}
}

// moveHistory has a unit of a store of any format go on with its history: what there was
// of it is in it, and nothing is left of what it was up to format 2.
func moveHistory(t *testing.T, s store.Store, m *state.Model, engine string) {
	t.Helper()
	ctx := t.Context()
	history := func() []model.Status {
		h, err := m.StatusHistory(ctx, state.AgentStatus, "site/0")
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	was := history()
	// The test loads etcd's in the order of keys, so its lines are older than the unit.
	if engine == "sqlite" && (len(was) < 10 || was[len(was)-1].Status != model.StatusIdle) {
		t.Fatalf("the history is %+v", was)
	}
	if err := m.SetStatus(ctx, state.AgentStatus, "site/0", model.Status{Status: model.StatusExecuting, Message: "now"}); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		now := history()
		if len(now) != min(10, len(was)+1) || now[len(now)-1].Message != "now" {
			t.Fatalf("the history is %+v", now)
		}
		for i, kept := range was[max(0, len(was)-9):] {
			if now[i].Status != kept.Status || now[i].Message != kept.Message || !now[i].Since.Equal(kept.Since.Truncate(time.Millisecond)) {
				t.Errorf("line %d is %+v, was %+v", i, now[i], kept)
			}
		}
		if err := m.RunCleanups(ctx); err != nil {
			t.Fatal(err)
		}
	}
	for key := range rawDocuments(t, s) {
		if strings.Contains(key, "/status-history/agent/site/0/") {
			t.Errorf("%s is left", key)
		}
	}
}
