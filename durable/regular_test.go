package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/unitd/unitd/durable"
)

// TestOnlyRegularFilesOfADirectoryAreRead: by links in it too, and nothing is waited for.
func TestOnlyRegularFilesOfADirectoryAreRead(t *testing.T) {
	t.Parallel()
	dir, elsewhere := t.TempDir(), filepath.Join(t.TempDir(), "secret")
	for _, err := range []error{
		os.WriteFile(elsewhere, []byte("secret"), 0o600), os.WriteFile(filepath.Join(dir, "file"), []byte("text"), 0o600), os.Mkdir(filepath.Join(dir, "sub"), 0o755),
		os.Symlink("../file", filepath.Join(dir, "sub/link")), os.Symlink(elsewhere, filepath.Join(dir, "out")), os.Symlink(filepath.Dir(elsewhere), filepath.Join(dir, "outdir")),
		syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600), os.Symlink("/dev/zero", filepath.Join(dir, "zero")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"file", "sub/link"} {
		if b, err := durable.ReadRegular(dir, name, 4); err != nil || string(b) != "text" {
			t.Errorf("%s: %q, %v", name, b, err)
		}
	}
	if _, err := durable.ReadRegular(dir, "file", 3); !errors.Is(err, syscall.EFBIG) {
		t.Errorf("one that is too long: %v", err)
	}
	for _, name := range []string{"pipe", "sub"} {
		if _, err := durable.OpenRegular(dir, name); !errors.Is(err, durable.ErrNotRegular) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, name := range []string{"out", "outdir/secret", "zero"} {
		if f, err := durable.OpenRegular(dir, name); err == nil {
			f.Close()
			t.Errorf("%s was opened", name)
		}
	}
	if _, err := durable.OpenRegular(dir, "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what isn't there: %v", err)
	}
}
