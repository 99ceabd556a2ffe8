package tools

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAPrivateSocketIsItsOwnersAlone(t *testing.T) {
	t.Parallel()
	for _, row := range []struct{ name, below string }{
		{"at its place", "x"},
		{"elsewhere, where the place's path is too long", strings.Repeat("long", 30)},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			dir, err := os.MkdirTemp("", "u") // a short one
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			path := filepath.Join(dir, row.below, "s")
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			// A killed process has left its own.
			if err := os.Symlink("/nowhere", path); err != nil {
				t.Fatal(err)
			}
			p, err := ListenPrivate(path)
			if err != nil {
				t.Fatal(err)
			}
			st, err := os.Stat(path)
			if err != nil || st.Mode() != os.ModeSocket|0o600 {
				t.Errorf("it has mode %v, %v", st.Mode(), err)
			}
			conn, err := net.Dial("unix", PrivateAddress(path))
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			address := PrivateAddress(path)
			if err := p.Close(); err != nil {
				t.Error(err)
			}
			for _, left := range []string{path, address} {
				if _, err := os.Lstat(left); !os.IsNotExist(err) {
					t.Errorf("%s is left: %v", left, err)
				}
			}
		})
	}
	path := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ListenPrivate(path); err == nil {
		t.Error("a file that isn't a socket has given way")
	}
}
