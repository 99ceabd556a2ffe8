package charmdir

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
)

// nobody is a user that has no more rights than what files give to it.
const nobody = 65534

// asNobody calls do on a thread whose rights to files are nobody's, where the
// tests run as root; others have no other rights anyway.
func asNobody(do func() error) error {
	done := make(chan error)
	go func() {
		if os.Geteuid() == 0 {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			if _, err := unix.SetfsuidRetUid(nobody); err != nil {
				done <- err
				return
			}
		}
		done <- do()
	}()
	return <-done
}

// nobodysDir is a directory of a user without special rights.
func nobodysDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "charmdir-test-")
	must(t, err)
	t.Cleanup(func() { must(t, RemoveTree(durable.Disk{}, dir)) })
	if os.Geteuid() == 0 {
		must(t, os.Chown(dir, nobody, nobody))
	}
	return dir
}

// cache is what a package cache makes: directories that nobody may write to.
func cache(dir string) error {
	mod := filepath.Join(dir, "cache", "mod")
	if err := os.MkdirAll(mod, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(mod, "file"), nil, 0o444); err != nil {
		return err
	}
	if err := os.Chmod(mod, 0o555); err != nil {
		return err
	}
	return os.Chmod(filepath.Dir(mod), 0o555)
}

func TestATreeWithReadOnlyDirectoriesIsRemoved(t *testing.T) {
	t.Parallel()
	tree := filepath.Join(nobodysDir(t), "tree")
	must(t, asNobody(func() error { return cache(tree) }))
	if asNobody(func() error { return os.RemoveAll(tree) }) == nil {
		t.Fatal("nothing was in the way")
	}
	must(t, asNobody(func() error { return RemoveTree(durable.Disk{}, tree) }))
	if _, err := os.Lstat(tree); !os.IsNotExist(err) {
		t.Fatalf("it is there: %v", err)
	}
	must(t, RemoveTree(durable.Disk{}, tree))
}

// TestAHooksReadOnlyDirectoryIsNoObstacle: neither to the next upgrade, which
// keeps it, nor to the one after that.
func TestAHooksReadOnlyDirectoryIsNoObstacle(t *testing.T) {
	t.Parallel()
	from := archives(t)
	readable := nobodysDir(t)
	for url, path := range from {
		b, err := os.ReadFile(path)
		must(t, err)
		from[url] = filepath.Join(readable, url[len("local:"):])
		must(t, os.WriteFile(from[url], b, 0o644))
	}
	d := NewDeployer(durable.Disk{}, nobodysDir(t))
	for i, url := range []string{oldURL, newURL, oldURL} {
		must(t, asNobody(func() error { return d.Deploy(t.Context(), from[url], url) }))
		got, err := d.Deployed()
		must(t, err)
		if got != url {
			t.Fatalf("deployed %q, want %q", got, url)
		}
		if i == 0 {
			must(t, asNobody(func() error { return cache(d.Path()) }))
		}
		if _, err := os.Stat(filepath.Join(d.Path(), "cache", "mod", "file")); err != nil {
			t.Error(err)
		}
	}
	entries, err := os.ReadDir(d.dir)
	must(t, err)
	if len(entries) != 1 {
		t.Errorf("left %v", entries)
	}
}

func TestWhatIsSetAsideIsOutOfTheWay(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "unit-a-0")
	if aside, err := SetAside(durable.Disk{}, path); aside != "" || err != nil {
		t.Fatalf("got %q, %v", aside, err)
	}
	for _, want := range []string{path + ".gone-0", path + ".gone-1"} {
		must(t, os.Mkdir(path, 0o755))
		aside, err := SetAside(durable.Disk{}, path)
		must(t, err)
		if _, err := os.Stat(aside); aside != want || err != nil {
			t.Fatalf("got %q, %v", aside, err)
		}
	}
}
