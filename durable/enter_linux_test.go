package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/unitd/unitd/durable"
)

// TestNoLinkIsEntered, and what is there is used, or made.
func TestNoLinkIsEntered(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("links are followed by who isn't root: to where everybody in the unit gets")
	}
	base, elsewhere := filepath.Join(t.TempDir(), "base"), t.TempDir()
	var disk durable.Disk
	path, leave, err := disk.Enter(base, 0o755, "made", "below")
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{
		os.WriteFile(filepath.Join(path, "file"), []byte("x"), 0o600), os.Rename(filepath.Join(base, "made"), filepath.Join(base, "moved")),
		os.Symlink(elsewhere, filepath.Join(base, "made")), disk.Chmod(path, 0o711), disk.Lchown(path, 7, 8),
		os.WriteFile(filepath.Join(path, "late"), nil, 0o600),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	leave()
	st, err := os.Stat(filepath.Join(base, "moved/below"))
	if err != nil || st.Mode().Perm() != 0o711 || st.Sys().(*syscall.Stat_t).Uid != 7 {
		t.Errorf("%v, %v", st, err)
	}
	for _, name := range []string{"file", "late"} {
		if _, err := os.Stat(filepath.Join(base, "moved/below", name)); err != nil {
			t.Error(err)
		}
	}
	for _, perm := range []os.FileMode{0, 0o755} {
		if _, _, err := disk.Enter(base, perm, "made", "new"); !errors.Is(err, syscall.ENOTDIR) {
			t.Errorf("a link: %v", err)
		}
	}
	if entries, err := os.ReadDir(elsewhere); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
	if _, _, err := disk.Enter(base, 0, "none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what isn't there: %v", err)
	}
}
