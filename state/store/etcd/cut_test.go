package etcd_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// wired opens the store that a URL names through a wire, and once more without.
func wired(t *testing.T, url string) (w *etcdtest.Wire, through, direct *etcd.Store) {
	t.Helper()
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	w = etcdtest.NewWire(t, o.Endpoints[0])
	return w, open(t, fmt.Sprintf("etcd://%s/%s", w.Endpoint, o.Prefix)), open(t, url)
}

func increment(tx store.Tx) error {
	n := 0
	if kv, err := tx.Get("n"); err == nil {
		if _, err := fmt.Sscan(string(kv.Value), &n); err != nil {
			return err
		}
	}
	return tx.Put("n", fmt.Append(nil, n+1))
}

func value(t *testing.T, s store.Store, key string) string {
	t.Helper()
	out := ""
	if _, err := s.View(t.Context(), func(r store.Reader) error {
		kv, err := r.Get(key)
		out = string(kv.Value)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return out
}

// Each Update is told to be made once, and is, though the answers to some are
// lost after etcd has made them, and others never reach it.
func TestACommitWhoseAnswerIsLostIsMadeOnce(t *testing.T) {
	t.Parallel()
	w, s, direct := wired(t, etcdtest.URL(t))
	const rounds, each = 5, 3
	for range rounds {
		for i := range each {
			update(t, s, func(tx store.Tx) error {
				if err := increment(tx); err != nil {
					return err
				}
				switch i {
				case 0: // the answer to the commit breaks the wire
					w.Set(false, true)
					time.AfterFunc(20*time.Millisecond, func() { w.Set(false, false) })
				case 1: // it is broken, and mended a little later
					w.Set(true, false)
					time.AfterFunc(20*time.Millisecond, func() { w.Set(false, false) })
				}
				return nil
			})
		}
	}
	if got := value(t, direct, "n"); got != fmt.Sprint(rounds*each) {
		t.Errorf("%d increments have counted to %s", rounds*each, got)
	}
}

func TestACommitThatWasFoundMissingIsntMadeLater(t *testing.T) {
	t.Parallel()
	s := open(t, etcdtest.URL(t))
	before, made, after, err := etcd.LateCommit(t.Context(), s, "a")
	if err != nil {
		t.Fatal(err)
	}
	if before || made || after {
		t.Errorf("found made: %v, then made: %v, then found made: %v", before, made, after)
	}
}

// told reads a watch until it has told of the revision; it says of which keys,
// and whether there was a Resync.
func told(t *testing.T, ch <-chan store.Batch, rev int64) (keys string, resync bool) {
	t.Helper()
	late := time.After(5 * time.Minute)
	for {
		select {
		case b, open := <-ch:
			if !open {
				t.Fatal("the watch has ended")
			}
			resync = resync || b.Resync
			for _, e := range b.Events {
				keys += e.Key + " "
			}
			if b.Rev >= rev {
				return keys, resync
			}
		case <-late:
			t.Fatalf("not told up to revision %d, but of %q", rev, keys)
		}
	}
}

func TestAWatchGoesOnWhereItWasCutOff(t *testing.T) {
	t.Parallel()
	w, s, direct := wired(t, etcdtest.URL(t))
	ch, err := s.Watch(t.Context(), []store.Keys{store.Below("k/")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	told(t, ch, put(t, direct, "k/1"))
	w.Set(true, false)
	put(t, direct, "k/2")
	rev := put(t, direct, "k/3", "other")
	w.Set(false, false)
	if keys, resync := told(t, ch, rev); keys != "k/2 k/3 " || resync {
		t.Errorf("told of %q, resync %v", keys, resync)
	}
}

func TestAWatchThatWasCutOffWhileHistoryWasForgottenResyncs(t *testing.T) {
	t.Parallel()
	w, s, direct := wired(t, etcdtest.Alone(t)) // compaction is for all prefixes
	ch, err := s.Watch(t.Context(), []store.Keys{store.Below("k/")}, 0)
	if err != nil {
		t.Fatal(err)
	}
	told(t, ch, put(t, direct, "k/1"))
	w.Set(true, false)
	put(t, direct, "k/2")
	rev := put(t, direct, "k/3")
	if err := direct.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	w.Set(false, false)
	if keys, resync := told(t, ch, rev); keys != "" || !resync {
		t.Errorf("told of %q, resync %v", keys, resync)
	}
	if keys, resync := told(t, ch, put(t, direct, "k/4")); keys != "k/4 " || resync {
		t.Errorf("then told of %q, resync %v", keys, resync)
	}
}

func TestAStoreThatIsntThereIsSaidToBe(t *testing.T) {
	t.Parallel()
	w := etcdtest.NewWire(t, "127.0.0.1:1")
	o, err := etcd.ParseURL(fmt.Sprintf("etcd://%s/x", w.Endpoint), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.Close()
	want := fmt.Sprintf("cannot open the store: etcd at %s doesn't answer: see that it runs there, and whether it wants certificates", w.Endpoint)
	if _, err = etcd.Open(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("opening it gave %v, want %s", err, want)
	}
}
