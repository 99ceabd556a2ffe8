package durable_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/unitd/unitd/durable"
)

func TestFleetingFilesStayInTheirDirectory(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := filepath.Join(top, "copies")
	files := map[string][]byte{"a": []byte("1"), "b/c": []byte("2"), "../out": []byte("3"), "/out": []byte("4"), "b/../../out": []byte("5"), "": []byte("6")}
	for range 2 { // also in place of what is there
		if err := durable.Fleeting(dir, files); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	if err := filepath.WalkDir(top, func(path string, e os.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			content, err := os.ReadFile(path)
			found = append(found, path[len(top):]+"="+string(content))
			return err
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if len(found) != 2 || found[0] != "/copies/a=1" || found[1] != "/copies/b/c=2" {
		t.Errorf("there is %v", found)
	}
}
