package history_test

import (
	"os"
	"slices"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks"
)

func next(t *testing.T, f *history.Follower) []int64 {
	t.Helper()
	var runs []int64
	if err := f.Next(100, func(entries []history.Entry) {
		for _, e := range entries {
			runs = append(runs, e.Run)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return runs
}

func expectNext(t *testing.T, f *history.Follower, want ...int64) {
	t.Helper()
	if got := next(t, f); !slices.Equal(got, want) {
		t.Errorf("came %v, want %v", got, want)
	}
}

func TestAFollowerHasEachEntryOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	f := history.NewFollower(dir + "/later")
	expectNext(t, f)
	f = history.NewFollower(dir)
	add(t, dir, entry(1, hooks.Install), entry(2, hooks.Start))
	expectNext(t, f, 1, 2)
	expectNext(t, f)
	add(t, dir, entry(3, hooks.Stop))
	expectNext(t, f, 3)

	// A line that is half there is no entry yet.
	path := history.Path(dir, "shop/0")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(slices.Clone(whole), whole[:40]...), 0o600); err != nil {
		t.Fatal(err)
	}
	expectNext(t, f)
	if err := os.WriteFile(path, append(slices.Clone(whole), whole...), 0o600); err != nil {
		t.Fatal(err)
	}
	expectNext(t, f, 1, 2, 3)
}

func TestAFollowerGoesOnInTheNextFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := history.Path(dir, "shop/0")
	add(t, dir, entry(1, hooks.Install))
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	add(t, dir, entry(2, hooks.Start))
	f := history.NewFollower(dir)
	expectNext(t, f, 1, 2)

	add(t, dir, entry(3, hooks.Stop)) // is set aside before anybody looks
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	expectNext(t, f)
	add(t, dir, entry(4, hooks.Remove))
	expectNext(t, f, 3, 4)
	expectNext(t, f)

	// Set aside twice while nobody looked: what is still there is read, once.
	add(t, dir, entry(5, hooks.Install))
	must(t, os.Rename(path, path+".1"))
	add(t, dir, entry(6, hooks.Start))
	must(t, os.Rename(path, path+".1"))
	add(t, dir, entry(7, hooks.Stop))
	expectNext(t, f, 6, 7)
	expectNext(t, f)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestAHistoryThatCannotBeReadHoldsUpNoOther, and is read once it can be.
func TestAHistoryThatCannotBeReadHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	other := entry(9, hooks.Install)
	other.Unit = "web/0"
	bad := history.Path(dir, "shop/0")
	must(t, os.Mkdir(bad, 0o700))
	add(t, dir, other)
	f := history.NewFollower(dir)
	var runs []int64
	pass := func(entries []history.Entry) {
		for _, e := range entries {
			runs = append(runs, e.Run)
		}
	}
	if err := f.Next(100, pass); err == nil || !slices.Equal(runs, []int64{9}) {
		t.Errorf("came %v, %v", runs, err)
	}
	must(t, os.Remove(bad))
	for i := range int64(5) {
		add(t, dir, entry(i+1, hooks.Install))
	}
	if err := f.Next(2, pass); err != nil || !slices.Equal(runs, []int64{9, 4, 5}) {
		t.Errorf("came %v, %v", runs, err)
	}
}
