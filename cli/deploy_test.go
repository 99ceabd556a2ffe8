package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/model"
)

// TestAPackedCharmGoesWithTheCommand: one that is killed leaves nothing in the
// temporary directory.
func TestAPackedCharmGoesWithTheCommand(t *testing.T) {
	temp, dir := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temp)
	if err := os.WriteFile(filepath.Join(dir, "metadata.yaml"), []byte("name: app\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := charmdir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	a := newProgram(t.Context(), "unitd", Streams{Out: io.Discard, Err: io.Discard})
	p, err := a.Pack(c, model.Isolation{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Drop()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("while it is packed the temporary directory has %v, %v", left, err)
	}
}
