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
	entries, err := f.Next()
	if err != nil {
		t.Fatal(err)
	}
	var runs []int64
	for _, e := range entries {
		runs = append(runs, e.Run)
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
}
