package served_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// TestAnAgentThatBeginsAnewIsFoundAgain: connections that were kept are made anew, and a watch
// goes on where it was.
func TestAnAgentThatBeginsAnewIsFoundAgain(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := serve(t, inFile(t), store.Everything())
	s := d.open()
	from, err := s.Update(ctx, put("a"))
	if err != nil {
		t.Fatal(err)
	}
	told, err := s.Watch(ctx, []store.Keys{store.Below("")}, from)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"b", "c", "d"} {
		d.end()
		if _, err := d.store.Update(ctx, put(key)); err != nil { // nobody is told of it now
			t.Fatal(err)
		}
		d.begin()
		rev, err := s.Update(ctx, put(key+"/2"))
		if err != nil {
			t.Fatal(err)
		}
		for seen := map[string]bool{}; !seen[key+"/2"]; {
			b := <-told
			for _, e := range b.Events {
				seen[e.Key] = true
			}
			if b.Rev >= rev && !seen[key] {
				t.Fatalf("of %q nobody was told: %v", key, b)
			}
		}
	}
}

// TestAViewThatLosesItsAgent goes on with one that has the same revision, and fails with
// another: it doesn't show two.
func TestAViewThatLosesItsAgent(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), store.Everything())
	s := d.open()
	view := func(meanwhile func()) error {
		_, err := s.View(t.Context(), func(r store.Reader) error {
			if _, err := r.List(""); err != nil {
				return err
			}
			meanwhile()
			d.server.Drop()
			_, err := r.List("")
			if _, again := r.List(""); err != nil && again == nil {
				t.Error("it goes on")
			}
			return err
		})
		return err
	}
	if err := view(func() {}); err != nil {
		t.Errorf("with the same revision: %v", err)
	}
	err := view(func() {
		if _, err := d.store.Update(t.Context(), put("a")); err != nil {
			t.Error(err)
		}
	})
	if !errors.Is(err, errors.Timeout) || !strings.Contains(err.Error(), "has gone away") {
		t.Errorf("with another revision: %v", err)
	}
	if _, err := s.View(t.Context(), func(store.Reader) error { d.server.Drop(); return nil }); err != nil {
		t.Errorf("that had read all: %v", err)
	}
}

// TestAnUpdateThatLosesItsAgent begins anew, unless its commit may have been made.
func TestAnUpdateThatLosesItsAgent(t *testing.T) {
	t.Parallel()
	var d *desk
	var drop atomic.Bool
	d = serve(t, dropping{inMemory(t), func() {
		if drop.Load() {
			d.server.Drop()
		}
	}}, store.Everything())
	s := d.open()
	tries := 0
	_, err := s.Update(t.Context(), func(tx store.Tx) error {
		if tries++; tries == 1 {
			if _, err := d.store.Update(t.Context(), put("b")); err != nil {
				t.Error(err)
			}
			d.server.Drop()
		}
		if _, err := tx.List(""); err != nil {
			return err
		}
		return tx.Put("a", nil)
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
	if _, err := s.Update(t.Context(), func(tx store.Tx) error {
		if tries++; tries == 3 {
			d.server.Drop()
		}
		return tx.Put("a", nil)
	}); err != nil || tries != 4 {
		t.Errorf("one that was asked for in vain, after %d tries: %v", tries, err)
	}
	drop.Store(true)
	if _, err := s.Update(t.Context(), put("c")); err == nil || !strings.Contains(err.Error(), "isn't known") {
		t.Errorf("one whose answer was lost: %v", err)
	}
	drop.Store(false)
	if _, err := s.Update(t.Context(), put("b")); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

// dropping is a store whose server drops all connections while it commits, if drop says so.
type dropping struct {
	store.Store
	drop func()
}

func (d dropping) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	d.drop()
	return d.Store.Update(ctx, fn, opts...)
}

// TestOneWhoThinksHoldsNobodyUp, with a transaction or a view that is open.
func TestOneWhoThinksHoldsNobodyUp(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	d := serve(t, inFile(t), store.Everything())
	s := d.open()
	tries := 0
	_, err := s.Update(ctx, func(tx store.Tx) error {
		if _, err := tx.List("a"); err != nil {
			return err
		}
		if tries++; tries == 1 {
			if _, err := d.store.Update(ctx, put("a")); err != nil {
				t.Error(err)
			}
		}
		return tx.Put("b", nil)
	})
	if err != nil || tries != 2 {
		t.Errorf("after %d tries: %v", tries, err)
	}
}

// TestWhatCannotBeReadEndsTheConnection, and that one alone.
func TestWhatCannotBeReadEndsTheConnection(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), model())
	frame := func(text string) string {
		return string(binary.BigEndian.AppendUint32(nil, uint32(len(text)))) + text
	}
	for _, tt := range []struct {
		name, sent string
		answered   int
	}{
		{"nothing", "", 0},
		{"half a length", "\x00\x00", 0},
		{"a frame that ends early", "\x00\x00\x00\x09{}", 0},
		{"a frame that is too long", "\xff\xff\xff\xff", 0},
		{"no JSON", frame("view"), 0},
		{"another type", frame(`{"ask": 1}`), 0},
		{"no question", frame(`{}`), 1},
		{"an unknown question", frame(`{"ask":"all"}`), 1},
		{"a key without a view", frame(`{"ask":"get","key":"m/1/a"}`), 1},
		{"a view in a view", frame(`{"ask":"view"}`) + frame(`{"ask":"view"}`), 2},
		{"a page of nothing", frame(`{"ask":"view"}`) + frame(`{"ask":"page"}`), 2},
		{"a commit of nothing", frame(`{"ask":"view"}`) + frame(`{"ask":"commit"}`), 2},
		{"a commit that writes nothing", frame(`{"ask":"view"}`) + frame(`{"ask":"commit","write":{"writes":{}}}`) + frame(`{"ask":"view"}`) + frame(`{"ask":"end"}`), 4},
		{"a commit without a view", frame(`{"ask":"commit","write":{"writes":{"m/1/x":{}}}}`), 1},
		{"a key that can't be", frame(`{"ask":"view"}`) + frame(`{"ask":"commit","write":{"writes":{"m/1/\u0000":{}}}}`), 2},
		{"a page that can't be", frame(`{"ask":"view"}`) + frame(`{"ask":"page","page":{"prefix":"m/1/","limit":-7,"since":-1}}`) + frame(`{"ask":"end"}`), 3},
	} {
		c, err := net.Dial("unix", d.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, tt.sent); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if err := c.(*net.UnixConn).CloseWrite(); err != nil {
			t.Error(err)
		}
		all, err := io.ReadAll(c)
		if err != nil && tt.answered > 0 {
			t.Errorf("%s: %v", tt.name, err)
		}
		frames := -1 // without the hello
		for len(all) >= 4 {
			all = all[4+binary.BigEndian.Uint32(all):]
			frames++
		}
		if err == nil && frames != tt.answered {
			t.Errorf("%s: answered %d times, want %d", tt.name, frames, tt.answered)
		}
		c.Close()
	}
	if _, err := d.open().Update(t.Context(), put("m/1/a")); err != nil {
		t.Error(err)
	}
}

// TestNobodyHasMoreConnectionsThanOthersNeed.
func TestNobodyHasMoreConnectionsThanOthersNeed(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), model(), 10)
	refused := 0
	for range 16 {
		c, err := net.Dial("unix", d.path)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		b := make([]byte, 4)
		if _, err := io.ReadFull(c, b); err != nil {
			t.Fatal(err)
		}
		said := make([]byte, binary.BigEndian.Uint32(b))
		if _, err := io.ReadFull(c, said); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(said), "too many") {
			refused++
		}
	}
	if refused != 6 {
		t.Errorf("refused were %d, want 6", refused)
	}
}

// TestAStoreThatIsBehindIsLookedAtAnew: one that was restored from a copy hasn't what a watch was
// told of.
func TestAStoreThatIsBehindIsLookedAtAnew(t *testing.T) {
	t.Parallel()
	s := serve(t, inMemory(t), store.Everything()).open()
	told, err := s.Watch(t.Context(), []store.Keys{store.Below("")}, 1000)
	if err != nil {
		t.Fatal(err)
	}
	if b := <-told; !b.Resync || b.Rev >= 1000 {
		t.Errorf("told %v", b)
	}
	if _, err := s.Update(t.Context(), put("a")); err != nil {
		t.Fatal(err)
	}
	if b := <-told; len(b.Events) != 1 || b.Events[0].Key != "a" {
		t.Errorf("then told %v", b)
	}
}

// TestALargeCommitComesAfterItsView, and others of its size wait for each other alone.
func TestALargeCommitComesAfterItsView(t *testing.T) {
	t.Parallel()
	d := serve(t, inFile(t), store.Everything())
	var all sync.WaitGroup
	for n := range 12 {
		s := d.open()
		all.Go(func() {
			if _, err := s.Update(t.Context(), func(tx store.Tx) error {
				return tx.Put(fmt.Sprint("large/", n), make([]byte, store.MaxValue))
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	c, err := net.Dial("unix", d.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(binary.BigEndian.AppendUint32(nil, 300<<10)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(c); err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("a large frame without a view: %v", err)
	}
}

// TestHoldTellsOthersToWait, and what they want is done afterwards.
func TestHoldTellsOthersToWait(t *testing.T) {
	t.Parallel()
	d := serve(t, inMemory(t), store.Everything())
	s := d.open()
	back := d.server.Hold()
	done := make(chan error)
	go func() {
		_, err := s.Update(t.Context(), put("a"))
		done <- err
	}()
	if _, err := s.View(canceled(t), func(store.Reader) error { return nil }); err == nil {
		t.Error("it is served")
	}
	back()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// canceled is a context that ends soon.
func canceled(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
	t.Cleanup(stop)
	return ctx
}
