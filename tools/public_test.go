package tools

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/juju/errors"
)

// TestAPublicSocketIsWhereNobodyElseCanPutOne, and takes the place of none that somebody has.
func TestAPublicSocketIsWhereNobodyElseCanPutOne(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "p")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path := filepath.Join(dir, "s")
	first, err := ListenPublic(path)
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("the socket is %v, %v", info, err)
	}
	if _, err := ListenPublic(path); !errors.Is(err, errors.AlreadyExists) {
		t.Errorf("a second one: %v", err)
	}
	if err := first.Close(); err != nil {
		t.Error(err)
	}
	for name, mode := range map[string]os.FileMode{"open": 0o777, "of-a-group": 0o775} {
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Join(folder, "below"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(folder, mode); err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{filepath.Join(folder, "s"), filepath.Join(folder, "below", "s")} {
			if _, err := ListenPublic(path); !errors.Is(err, errors.NotValid) {
				t.Errorf("at %s: %v", path, err)
			}
		}
	}
}
