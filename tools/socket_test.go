package tools

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// long is a path that no socket can have.
func long(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), strings.Repeat("d", 100))
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	return filepath.Join(dir, "agent.socket")
}

func open(t *testing.T, path string) *socket {
	t.Helper()
	s, err := openSocket(path, false, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestASocketWhosePathIsTooLongIsAtOneOtherPlace(t *testing.T) {
	t.Parallel()
	path := long(t)
	killed := open(t, path) // and never closed, as a killed agent's
	next := open(t, path)
	if len(next.path) > maxSocketPath || next.path != killed.path {
		t.Errorf("the first is at %s, the second at %s", killed.path, next.path)
	}
	info, err := os.Stat(filepath.Dir(next.path))
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
	if other := open(t, long(t)); other.path == next.path {
		t.Errorf("another unit's socket is at %s as well", other.path)
	}
	if err := killed.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(next.path); err != nil {
		t.Errorf("the former owner has taken the socket away: %v", err)
	}
	if err := next.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Dir(next.path)); !os.IsNotExist(err) {
		t.Errorf("the directory was left: %v", err)
	}
}

func TestADirectoryThatIsNotOursAloneIsNotUsed(t *testing.T) {
	t.Parallel()
	path := long(t)
	first := open(t, path)
	place := filepath.Dir(first.path)
	if err := os.Chmod(place, 0o777); err != nil {
		t.Fatal(err)
	}
	second := open(t, path)
	if filepath.Dir(second.path) == place {
		t.Errorf("the socket is in %s, where anybody could put another", place)
	}
}

func TestALongTemporaryDirectoryIsNotUsed(t *testing.T) {
	path := long(t)
	t.Setenv("TMPDIR", filepath.Dir(path))
	if s := open(t, path); len(s.path) > maxSocketPath {
		t.Errorf("the socket is at %s", s.path)
	}
}
