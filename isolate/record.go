package isolate

import (
	"encoding/json"
	"os"

	"github.com/juju/errors"
)

// readRecord reads a file that writeRecord has written.
func readRecord(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Annotatef(json.Unmarshal(b, v), "cannot read %s", path)
}

// writeRecord replaces a file: the old or the new one is there at any time.
func writeRecord(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return errors.Trace(err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(path+".new", path))
}
