package etcd_test

import (
	"fmt"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// wire is a connection to etcd that can be cut.
type wire struct {
	listener net.Listener
	to       string
	mu       sync.Mutex
	down     bool
	deaf     bool // what etcd answers is dropped
	conns    []net.Conn
}

func newWire(t *testing.T, to string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{listener: l, to: to}
	var done sync.WaitGroup
	done.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			done.Go(func() { w.carry(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		w.set(true, false)
		done.Wait()
	})
	return w
}

// carry carries bytes until the wire is cut.
func (w *wire) carry(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("tcp", w.to)
	if err != nil {
		return
	}
	defer s.Close()
	w.mu.Lock()
	down := w.down
	w.conns = append(w.conns, c, s)
	w.mu.Unlock()
	if down {
		return
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		defer c.Close()
		defer s.Close()
		buf := make([]byte, 1<<16)
		for {
			n, err := s.Read(buf)
			w.mu.Lock()
			deaf := w.deaf
			w.mu.Unlock()
			if err != nil || deaf {
				return
			}
			if _, err := c.Write(buf[:n]); err != nil {
				return
			}
		}
	}()
	_, _ = io.Copy(s, c)
	s.Close()
	<-answered
}

// set cuts the wire, or mends it. One that is deaf breaks when etcd answers.
func (w *wire) set(down, deaf bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.down, w.deaf = down, deaf
	if down {
		for _, c := range w.conns {
			c.Close()
		}
		w.conns = nil
	}
}

// wired opens the store that a URL names through a wire, and once more without.
func wired(t *testing.T, url string) (w *wire, through, direct *etcd.Store) {
	t.Helper()
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	w = newWire(t, o.Endpoints[0])
	return w, open(t, fmt.Sprintf("etcd://%s/%s", w.listener.Addr(), o.Prefix)), open(t, url)
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
					w.set(false, true)
					time.AfterFunc(20*time.Millisecond, func() { w.set(false, false) })
				case 1: // it is broken, and mended a little later
					w.set(true, false)
					time.AfterFunc(20*time.Millisecond, func() { w.set(false, false) })
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
	late := time.After(30 * time.Second)
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
	ch, err := s.Watch(t.Context(), "k/", 0)
	if err != nil {
		t.Fatal(err)
	}
	told(t, ch, put(t, direct, "k/1"))
	w.set(true, false)
	put(t, direct, "k/2")
	rev := put(t, direct, "k/3", "other")
	w.set(false, false)
	if keys, resync := told(t, ch, rev); keys != "k/2 k/3 " || resync {
		t.Errorf("told of %q, resync %v", keys, resync)
	}
}

func TestAWatchThatWasCutOffWhileHistoryWasForgottenResyncs(t *testing.T) {
	t.Parallel()
	w, s, direct := wired(t, etcdtest.Alone(t)) // compaction is for all prefixes
	ch, err := s.Watch(t.Context(), "k/", 0)
	if err != nil {
		t.Fatal(err)
	}
	told(t, ch, put(t, direct, "k/1"))
	w.set(true, false)
	put(t, direct, "k/2")
	rev := put(t, direct, "k/3")
	if err := direct.Compact(t.Context(), rev); err != nil {
		t.Fatal(err)
	}
	w.set(false, false)
	if keys, resync := told(t, ch, rev); keys != "" || !resync {
		t.Errorf("told of %q, resync %v", keys, resync)
	}
	if keys, resync := told(t, ch, put(t, direct, "k/4")); keys != "k/4 " || resync {
		t.Errorf("then told of %q, resync %v", keys, resync)
	}
}

func TestAStoreThatIsntThereIsSaidToBe(t *testing.T) {
	t.Parallel()
	w := newWire(t, "127.0.0.1:1")
	o, err := etcd.ParseURL(fmt.Sprintf("etcd://%s/x", w.listener.Addr()), nil)
	if err != nil {
		t.Fatal(err)
	}
	w.listener.Close()
	want := fmt.Sprintf("cannot open the store: etcd at %s doesn't answer: see that it runs there, and whether it wants certificates", w.listener.Addr())
	if _, err = etcd.Open(t.Context(), o); err == nil || err.Error() != want {
		t.Errorf("opening it gave %v, want %s", err, want)
	}
}
