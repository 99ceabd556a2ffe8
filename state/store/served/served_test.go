package served_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/memory"
	"github.com/unitd/unitd/state/store/served"
	"github.com/unitd/unitd/state/store/sqlite"
	"github.com/unitd/unitd/state/store/storetest"
)

// desk is a server for tests, which can be ended and begun again.
type desk struct {
	t     testing.TB
	path  string
	store store.Store

	mu     sync.Mutex
	caller served.Caller // what everybody may do
	no     error         // or why nobody may
	most   int           // connections

	server *served.Server
	agents served.Agents
	keys   func() (string, error)
	end    func()
}

// serve serves a store until the test ends, to everybody with these rights, on so many
// connections.
func serve(t testing.TB, s store.Store, rights store.Rights, most ...int) *desk {
	t.Helper()
	dir, err := os.MkdirTemp("", "served")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := &desk{t: t, path: filepath.Join(dir, "s"), store: s, caller: served.Caller{Name: "alice", Rights: rights, Trusted: true}}
	for _, n := range most {
		d.most = n
	}
	d.begin()
	t.Cleanup(func() { d.end() })
	return d
}

func (d *desk) begin() {
	d.t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: d.path, Net: "unix"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.server = &served.Server{Store: d.store, Format: "1", Who: d.who, Most: d.most, Agents: d.agents, Keys: d.keys}
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := d.server.Serve(context.Background(), l); err != nil {
			d.t.Error(err)
		}
	}()
	d.end = sync.OnceFunc(func() {
		l.Close()
		<-over
	})
}

func (d *desk) who(_ store.Reader, who peer.Who) (served.Caller, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if who.UID != os.Getuid() || who.PID != os.Getpid() {
		d.t.Errorf("the caller is %+v", who)
	}
	return d.caller, d.no
}

// may changes what everybody may do.
func (d *desk) may(rights store.Rights, no error) {
	d.mu.Lock()
	d.caller.Rights, d.no = rights, no
	d.mu.Unlock()
	d.server.Drop()
}

// open is a client of it.
func (d *desk) open() *served.Store {
	d.t.Helper()
	s, err := served.Open(d.t.Context(), served.Options{Path: d.path, Format: "1"})
	if err != nil {
		d.t.Fatal(err)
	}
	d.t.Cleanup(func() {
		if err := s.Close(); err != nil {
			d.t.Error(err)
		}
	})
	return s
}

func inMemory(t testing.TB) store.Store {
	t.Helper()
	s := memory.New(clock.WallClock)
	t.Cleanup(func() { s.Close() })
	return s
}

func inFile(t testing.TB) store.Store {
	t.Helper()
	s, err := sqlite.Open(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	for name, behind := range map[string]func(testing.TB) store.Store{"sqlite": inFile, "memory": inMemory} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			storetest.Run(t, func(t *testing.T) store.Store { return serve(t, behind(t), store.Everything(), 5000).open() })
		})
	}
}

func TestConformanceOfAPair(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(t *testing.T) (a, b store.Store) {
		d := serve(t, inFile(t), store.Everything())
		return d.open(), d.open()
	})
}

// TestConformanceBesideTheFile has one go through the agent, and one to the file itself.
func TestConformanceBesideTheFile(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(t *testing.T) (a, b store.Store) {
		file := inFile(t)
		return serve(t, file, store.Everything()).open(), file
	})
}

// model are the rights of who may change one model, and read a list.
func model() store.Rights {
	return store.Rights{{Keys: store.Below("m/1/"), Write: true}, {Keys: store.Below("models/")}, {Keys: store.Only("models/one"), Write: true}}
}

func put(key string) func(store.Tx) error {
	return func(tx store.Tx) error { return tx.Put(key, []byte("v")) }
}

// TestNobodyDoesMoreThanHisRights asks for everything that a store can do.
func TestNobodyDoesMoreThanHisRights(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	behind := inMemory(t)
	if _, err := behind.Update(ctx, func(tx store.Tx) error {
		for _, key := range []string{"m/1/a", "m/2/a", "models/one", "models/two", "controller/info"} {
			if err := tx.Put(key, []byte("v")); err != nil {
				return err
			}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	lent, err := behind.Grant(ctx, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	d := serve(t, behind, model())
	s := d.open()
	update := func(fn func(store.Tx) error) func() error {
		return func() error { _, err := s.Update(ctx, fn); return err }
	}
	view := func(fn func(store.Reader) error) func() error {
		return func() error { _, err := s.View(ctx, fn); return err }
	}
	get := func(key string) func() error {
		return view(func(r store.Reader) error { _, err := r.Get(key); return err })
	}
	list := func(prefix string) func() error {
		return view(func(r store.Reader) error { _, err := r.List(prefix); return err })
	}
	watch := func(of ...store.Keys) func() error {
		return func() error {
			ctx, stop := context.WithCancel(ctx)
			defer stop()
			_, err := s.Watch(ctx, of, 0)
			return err
		}
	}
	grant := func() error {
		id, err := s.Grant(ctx, time.Hour)
		if err != nil {
			return err
		}
		if err := s.KeepAlive(ctx, id); err != nil {
			return err
		}
		return s.Revoke(ctx, id)
	}
	reader := store.Rights{{Keys: store.Below("m/1/")}}
	for _, tt := range []struct {
		name   string
		rights store.Rights
		do     func() error
		may    bool
	}{
		{"reads its model's key", model(), get("m/1/a"), true},
		{"reads another model's key", model(), get("m/2/a"), false},
		{"reads a key that isn't there, of another model", model(), get("m/2/none"), false},
		{"lists its model", model(), list("m/1/"), true},
		{"lists models", model(), list("models/"), true},
		{"lists all models' documents", model(), list("m/"), false},
		{"lists more than its model", model(), list("m/1"), false},
		{"lists everything", model(), list(""), false},
		{"reads keys alone", model(), view(func(r store.Reader) error { _, err := r.Keys("", "", 1); return err }), false},
		{"reads what is new", model(), view(func(r store.Reader) error { _, err := r.Since("m/", 1); return err }), false},
		{"reads a page", model(), view(func(r store.Reader) error { _, err := r.Page("m/", "m/2/", 1); return err }), false},
		{"writes its model", model(), update(put("m/1/b")), true},
		{"writes another model", model(), update(put("m/2/b")), false},
		{"writes what begins alike", model(), update(put("m/1")), false},
		{"writes its entry", model(), update(put("models/one")), true},
		{"writes another entry", model(), update(put("models/two")), false},
		{"writes who may do what", model(), update(put("controller/info")), false},
		{"deletes its own", model(), update(func(tx store.Tx) error { return tx.Delete("m/1/b") }), true},
		{"deletes another's", model(), update(func(tx store.Tx) error { return tx.Delete("m/2/a") }), false},
		{"writes both at once", model(), update(func(tx store.Tx) error {
			if err := tx.Put("m/1/c", nil); err != nil {
				return err
			}
			return tx.Put("m/2/c", nil)
		}), false},
		{"watches its model", model(), watch(store.Below("m/1/"), store.Only("models/two")), true},
		{"watches another one too", model(), watch(store.Below("m/1/"), store.Below("m/2/")), false},
		{"watches everything", model(), watch(store.Below("")), false},
		{"has a lease", model(), grant, true},
		{"ends another's lease", model(), func() error { return s.Revoke(ctx, lent) }, false},
		{"forgets history", model(), func() error { return s.Compact(ctx, 1) }, false},
		{"reads to read", reader, get("m/1/a"), true},
		{"watches to read", reader, watch(store.Below("m/1/")), true},
		{"writes to read", reader, update(put("m/1/b")), false},
		{"has a lease to read", reader, grant, false},
		{"keeps a lease alive to read", reader, func() error { return s.KeepAlive(ctx, lent) }, false},
		{"forgets history to read", store.Rights{{Keys: store.Below("")}}, func() error { return s.Compact(ctx, 1) }, false},
		{"forgets history", store.Everything(), func() error { return s.Compact(ctx, 1) }, true},
		{"ends another's lease", store.Everything(), func() error { return s.Revoke(ctx, lent) }, true},
	} {
		d.may(tt.rights, nil)
		err := tt.do()
		if may := !errors.Is(err, errors.Unauthorized); may != tt.may || tt.may && err != nil {
			t.Errorf("who %s may: %v (%v)", tt.name, may, err)
		}
	}
	if _, err := behind.View(ctx, func(r store.Reader) error {
		kvs, err := r.List("m/")
		if len(kvs) != 2 {
			t.Errorf("there are %v", kvs)
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestWhoMayDoNothingIsToldSo(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), nil)
	s := d.open()
	d.may(nil, errors.NewUnauthorized(nil, "bob has no rights here"))
	_, err := served.Open(t.Context(), served.Options{Path: d.path, Format: "1"})
	if !errors.Is(err, errors.Unauthorized) || err.Error() != "bob has no rights here" {
		t.Errorf("opened: %v", err)
	}
	if _, err := s.View(t.Context(), func(store.Reader) error { return nil }); !errors.Is(err, errors.Unauthorized) {
		t.Errorf("who had rights before: %v", err)
	}
}

func TestOtherProgramsAreRefused(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), store.Everything())
	if _, err := served.Open(t.Context(), served.Options{Path: d.path, Format: "2"}); !errors.Is(err, errors.NotValid) {
		t.Errorf("one with another format: %v", err)
	}
	none := d.path + "none"
	if _, err := served.Open(t.Context(), served.Options{Path: none, Format: "1"}); !errors.Is(err, errors.NotFound) {
		t.Errorf("where nobody is: %v", err)
	}
	l, err := net.Listen("unix", none)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for c, err := l.Accept(); err == nil; c, err = l.Accept() {
			_, _ = c.Write([]byte("\x00\x00\x00\x02{}"))
			c.Close()
		}
	}()
	if _, err := served.Open(t.Context(), served.Options{Path: none, Format: "1"}); !errors.Is(err, errors.NotValid) {
		t.Errorf("where somebody else is: %v", err)
	}
}

func TestPath(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"agent:/run/unitd-agent/store.socket": "/run/unitd-agent/store.socket", "agent:/a/../b": "/b",
		"agent:": "", "agent:relative": "", "etcd://x/y": "", "": "",
	} {
		got, err := served.Path(name)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, errors.NotValid) {
			t.Errorf("%q: %q, %v", name, got, err)
		}
	}
}

// TestRightsAreThoseOfTheMoment: what somebody loses while his transaction is under way it can't
// do any more, also if nobody has dropped his connection yet.
func TestRightsAreThoseOfTheMoment(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), model())
	s := d.open()
	_, err := s.Update(t.Context(), func(tx store.Tx) error {
		d.mu.Lock()
		d.caller.Rights = store.Rights{{Keys: store.Below("m/1/")}}
		d.mu.Unlock()
		return tx.Put("m/1/a", nil)
	})
	if !errors.Is(err, errors.Unauthorized) {
		t.Errorf("it was written: %v", err)
	}
}

// TestLargeValuesComeInPieces, whole and in their order.
func TestLargeValuesComeInPieces(t *testing.T) {
	t.Parallel()
	ctx, behind := t.Context(), inFile(t)
	for n := range 60 {
		if _, err := behind.Update(ctx, func(tx store.Tx) error {
			return tx.Put(fmt.Sprintf("m/1/%02d", n), bytes.Repeat([]byte{byte(n)}, 300_000))
		}, store.Relaxed); err != nil {
			t.Fatal(err)
		}
	}
	s := serve(t, behind, model()).open()
	for what, list := range map[string]func(store.Reader) ([]store.KV, error){
		"a list":      func(r store.Reader) ([]store.KV, error) { return r.List("m/1/") },
		"a page":      func(r store.Reader) ([]store.KV, error) { return r.Page("m/1/", "m/1", 1000) },
		"what is new": func(r store.Reader) ([]store.KV, error) { return r.Since("m/1/", 0) },
	} {
		if _, err := s.View(ctx, func(r store.Reader) error {
			kvs, err := list(r)
			for n, kv := range kvs {
				if kv.Key != fmt.Sprintf("m/1/%02d", n) || len(kv.Value) != 300_000 || kv.Value[299_999] != byte(n) {
					t.Fatalf("%s: the %dth is %s with %d bytes", what, n, kv.Key, len(kv.Value))
				}
			}
			if len(kvs) != 60 {
				t.Errorf("%s has %d", what, len(kvs))
			}
			return err
		}); err != nil {
			t.Error(err)
		}
	}
}

// agents answers for one model.
type agents struct{}

func (agents) Ask(_ context.Context, c served.Caller, model, machine string, body json.RawMessage) (json.RawMessage, error) {
	if model != "1" {
		return nil, c.Refused()
	}
	return json.Marshal(c.Name + " asks " + machine + " " + string(body))
}

func (agents) AskSettled(_ context.Context, c served.Caller, model string) (int64, error) {
	if model != "1" {
		return 0, c.Refused()
	}
	return 7, nil
}

// TestAgentsAreAskedForWhoOnlyReads, and who only reads gets no keys.
func TestAgentsAreAskedForWhoOnlyReads(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := serve(t, inMemory(t), store.Rights{{Keys: store.Below("m/1/")}})
	d.end()
	d.agents, d.keys = agents{}, func() (string, error) { return "key", nil }
	d.begin()
	s := d.open()
	if answer, err := s.AskAgent(ctx, "1", "0", json.RawMessage(`{"a":1}`)); err != nil || string(answer) != `"alice asks 0 {\"a\":1}"` {
		t.Errorf("answered %s, %v", answer, err)
	}
	if rev, err := s.AskSettled(ctx, "1"); rev != 7 || err != nil {
		t.Errorf("revision %d, %v", rev, err)
	}
	if _, err := s.AskAgent(ctx, "2", "0", json.RawMessage(`{}`)); !errors.Is(err, errors.Unauthorized) {
		t.Errorf("of another model: %v", err)
	}
	if key, err := s.Keys(ctx); key != "key" || err != nil {
		t.Errorf("the key is %q, %v", key, err)
	}
	d.mu.Lock()
	d.caller.Trusted = false
	d.mu.Unlock()
	d.server.Drop()
	if key, err := s.Keys(ctx); !errors.Is(err, errors.Unauthorized) {
		t.Errorf("who isn't trusted has the key %q, %v", key, err)
	}
}
