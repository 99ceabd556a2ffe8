package durable

import (
	"os"
	"path/filepath"

	"github.com/juju/errors"
)

// Fleeting writes files by their names, with slashes, below a directory: for whoever reads them
// meanwhile. Each is there as a whole, but none of them is durable. Names that lead elsewhere are
// passed over.
func Fleeting(dir string, files map[string][]byte) error {
	for name, content := range files {
		local, err := filepath.Localize(name)
		if err != nil {
			continue
		}
		path := filepath.Join(dir, local)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return errors.Annotate(err, "cannot keep a copy")
		}
		if err := os.WriteFile(path+".new", content, 0o600); err != nil {
			return errors.Annotate(err, "cannot keep a copy")
		}
		if err := os.Rename(path+".new", path); err != nil {
			return errors.Annotate(err, "cannot keep a copy")
		}
	}
	return nil
}
