package isolate

import (
	"encoding/json"
	"io/fs"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// readRecord reads a file that writeRecord has written.
func readRecord(path string, v any) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Annotatef(json.Unmarshal(b, v), "cannot read %s", path)
}

// readOfBoot is readRecord of what counts until the host's next boot. One without its
// content has lost it with the host's power, so it is as good as none: the error is that
// of a file that isn't there.
func readOfBoot(path string, v any) error {
	err := readRecord(path, v)
	var lost *json.SyntaxError
	if errors.As(err, &lost) {
		return errors.Annotatef(fs.ErrNotExist, "cannot read %s", path)
	}
	return err
}

// writeRecord replaces a file: the old or the new one is there at any time, also when the
// host has lost its power.
func writeRecord(disk durable.Disk, path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(disk.ReplaceFile(path, b, 0o600))
}

// writeOfBoot is writeRecord of what counts until the host's next boot, and needn't wait
// for the disk.
func writeOfBoot(path string, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return errors.Trace(err)
	}
	if err := os.WriteFile(path+".new", b, 0o600); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(path+".new", path))
}
