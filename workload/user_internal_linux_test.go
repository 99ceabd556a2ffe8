package workload

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/juju/errors"
)

// TestWhatALayerRemovesIsGone: the layers below don't count for it any more.
func TestWhatALayerRemovesIsGone(t *testing.T) {
	t.Parallel()
	top, below := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"etc/passwd": "web:x:7:8::/srv:\n", "bin/pebble": "#!/bin/sh\n"} {
		path := filepath.Join(below, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	layers := []string{top, below}
	if p, err := lookUp(layers, "web"); err != nil || p != (person{7, 8, "/srv"}) || pebbleOf(layers) == "" {
		t.Fatalf("it is %+v, %v, with Pebble %q", p, err, pebbleOf(layers))
	}
	for _, name := range []string{"etc/passwd", "bin/pebble"} {
		path := filepath.Join(top, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mknod(path, syscall.S_IFCHR, 0); err != nil {
			t.Skipf("this user can't write what overlayfs takes for removed: %v", err)
		}
	}
	if p, err := lookUp(layers, "web"); !errors.Is(err, errors.NotFound) {
		t.Errorf("it is %+v, %v", p, err)
	}
	if path := pebbleOf(layers); path != "" {
		t.Errorf("it is %s", path)
	}
}
