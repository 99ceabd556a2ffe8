package charmbuild

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

// inCache makes packages, as if pip had, and holds them.
func inCache(t *testing.T, dir, key string) *Hold {
	t.Helper()
	path := filepath.Join(dir, key, "left", "__init__.py")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, 1000), 0o600); err != nil {
		t.Fatal(err)
	}
	hold, err := Builder{Cache: dir}.hold(t.Context(), filepath.Join(dir, key), "app")
	if err != nil || hold == nil {
		t.Fatalf("got %v, %v", hold, err)
	}
	return hold
}

func always(Kept) bool { return true }

func TestPackagesAreListedWithTheirUses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	one, two := Use{"/data", "sqlite", "1"}, Use{"/data", "sqlite", "2"}
	first, second := inCache(t, dir, "aa"), inCache(t, dir, "bb")
	for _, u := range []Use{one, two, one} {
		if err := first.Use(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	second.Release()
	at := time.Unix(1_700_000_000, 0)
	if err := os.Chtimes(filepath.Join(dir, "aa"+usesEnd), at, at); err != nil {
		t.Fatal(err)
	}
	all, err := List(dir)
	for len(all) > 0 && all[0].Held { // by a program that another test starts, until it runs
		runtime.Gosched()
		all, err = List(dir)
	}
	if err != nil || len(all) != 2 || all[0].Key != "bb" || all[0].Held || all[0].Charm != "" || all[0].Size != 1000 {
		t.Fatalf("got %+v, %v", all, err)
	}
	if k := all[1]; k.Key != "aa" || !k.Held || k.Charm != "app" || k.Size != 1000 || !k.Used.Equal(at) || !slices.Equal(k.Uses, []Use{one, two}) {
		t.Errorf("got %+v", k)
	}
	// What is forgotten is no use.
	if err := Forget(t.Context(), dir, "aa", func(u Use) bool { return u == two }); err != nil {
		t.Fatal(err)
	}
	all, err = List(dir)
	if err != nil || !slices.Equal(all[1].Uses, []Use{two}) || !all[1].Used.Equal(at) {
		t.Errorf("got %+v, %v", all, err)
	}
	if none, err := List(filepath.Join(dir, "nothing")); err != nil || len(none) > 0 {
		t.Errorf("got %v, %v", none, err)
	}
}

func TestPackagesThatAProcessHoldsStay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	hold := inCache(t, dir, "aa")
	if done, err := Remove(dir, "aa", always); done || err != nil {
		t.Fatalf("removed: %v, %v", done, err)
	}
	hold.Release()
	if done, err := Remove(dir, "aa", func(Kept) bool { return false }); done || err != nil {
		t.Fatalf("removed though they are used: %v, %v", done, err)
	}
	if done, err := Remove(dir, "aa", always); !done || err != nil {
		t.Fatalf("removed: %v, %v", done, err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left are %v, %v", left, err)
	}
	if done, err := Remove(dir, "aa", always); done || err != nil {
		t.Errorf("removed twice: %v, %v", done, err)
	}
	var none *Hold
	none.Release()
	if err := none.Use(t.Context(), Use{}); err != nil || none.Key() != "" {
		t.Errorf("got %v", err)
	}
}

// TestALockThatWasRemovedIsTakenAnew: whoever has waited for it doesn't take what is no
// lock any more.
func TestALockThatWasRemovedIsTakenAnew(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "aa"+lockEnd)
	b := Builder{}
	unlock, err := b.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	waits := make(chan struct{})
	told := sync.OnceFunc(func() { close(waits) })
	b.Step = func(string) { told() }
	got := make(chan error, 1)
	go func() {
		release, err := b.lock(t.Context(), path)
		if err == nil {
			defer release()
			_, err = os.Stat(path)
		}
		got <- err
	}()
	<-waits
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	unlock()
	if err := <-got; err != nil {
		t.Error(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	unlock, err = b.lock(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	b.Step = nil
	if _, err := b.lock(ctx, path); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestWhatKilledProcessesHaveLeftIsSweptAway(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	inCache(t, dir, "aa").Release()
	for _, name := range []string{"bb" + lockEnd, "bb" + logEnd, "cc" + lockEnd, "bb" + usesEnd} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"bb" + newEnd + "1", "cc" + newEnd + "2"} {
		if err := os.MkdirAll(filepath.Join(dir, name, "packages"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	busy, err := Builder{}.lock(t.Context(), filepath.Join(dir, "cc"+lockEnd)) // pip works
	if err != nil {
		t.Fatal(err)
	}
	defer busy()
	if err := Sweep(dir); err != nil {
		t.Fatal(err)
	}
	var left []string
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if want := []string{"aa", "aa.lock", "cc.lock", "cc.new-2"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("left are %v, %v", left, err)
	}
}
