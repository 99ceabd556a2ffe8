package charmdir

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// told waits until a watch tells of a save.
func told(t *testing.T, saved <-chan struct{}, of string) {
	t.Helper()
	select {
	case _, ok := <-saved:
		if !ok {
			t.Fatalf("the watch has ended before %s", of)
		}
	case <-time.After(5 * time.Minute):
		t.Fatalf("not told of %s", of)
	}
}

func TestWatchTellsOfEachSave(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "charm")
	files{"metadata.yaml": "name: a", "hooks/install*": ""}.write(t, dir)
	ctx, stop := context.WithCancel(t.Context())
	saved, err := Watch(ctx, dir, 5*time.Millisecond)
	must(t, err)
	must(t, os.WriteFile(filepath.Join(dir, "hooks/install"), []byte("x"), 0o755))
	told(t, saved, "a file that was written")
	must(t, os.Chmod(filepath.Join(dir, "hooks/install"), 0o644))
	told(t, saved, "a mode that was changed")
	must(t, os.MkdirAll(filepath.Join(dir, "src/deep/er"), 0o755))
	told(t, saved, "new directories")
	must(t, os.WriteFile(filepath.Join(dir, "src/deep/er/file"), nil, 0o644))
	told(t, saved, "a file in a new directory")
	must(t, os.Rename(filepath.Join(dir, "src"), filepath.Join(dir, "lib")))
	told(t, saved, "a directory that was renamed")
	must(t, os.WriteFile(filepath.Join(dir, "lib/deep/er/file"), []byte("x"), 0o644))
	told(t, saved, "a file in a renamed directory")
	must(t, os.RemoveAll(dir))
	told(t, saved, "the tree's end")
	files{"metadata.yaml": "name: b", "hooks/install*": ""}.write(t, dir)
	told(t, saved, "the tree's return")
	must(t, os.WriteFile(filepath.Join(dir, "hooks/install"), []byte("y"), 0o755))
	told(t, saved, "a file in the tree that has come back")
	stop()
	for range saved { // until it is closed
	}
	if _, err := Watch(t.Context(), filepath.Join(dir, "none"), time.Second); err == nil {
		t.Error("a tree that isn't there is watched")
	}
}

// TestATreeThatIsWrittenToAllTheTimeIsToldOf: with a quiet time
// that never comes, what is written all the time is told of at last.
func TestATreeThatIsWrittenToAllTheTimeIsToldOf(t *testing.T) {
	t.Parallel()
	dir := files{"metadata.yaml": "name: a"}.dir(t)
	saved, err := Watch(t.Context(), dir, 20*time.Millisecond)
	must(t, err)
	begun := time.Now()
	for n := 0; ; n++ {
		must(t, os.WriteFile(filepath.Join(dir, "log"), []byte{byte(n)}, 0o644))
		select {
		case <-saved:
			return
		default:
		}
		if time.Since(begun) > 5*time.Minute {
			t.Fatal("nobody was told")
		}
	}
}

func TestPassing(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"metadata.yaml": false, "hooks/install": false, "src/charm.py": false, "lib/charms/a/v0/b.py": false,
		"build/charm": false, "src/dist/x": false, "bin": false, "venv/lib/x.py": false,
		".git/index": true, ".git": true, "sub/.git/HEAD": true, "src/__pycache__/charm.cpython-312.pyc": true,
		"src/.charm.py.swp": true, "hooks/install~": true, "4913": true, "src/.#charm.py": true,
		"app_amd64.charm": true, "dist/app.whl": true, "prime/metadata.yaml": true, ".tox/py3/x": true,
	} {
		if got := Passing(name); got != want {
			t.Errorf("Passing(%q) is %v", name, got)
		}
	}
}
