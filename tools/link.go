package tools

import (
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/juju/errors"
)

// Link makes the tools' names in dir links to the client's binary, and those of
// Outside to outside's, which knows more. What is right already is left alone;
// what isn't is replaced in one step, so that a hook that runs meanwhile always
// finds its tools.
func Link(dir, client, outside string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return errors.Annotate(err, "cannot link hook tools")
	}
	to := map[string]string{}
	for _, t := range Table() {
		to[t.Name] = client
	}
	for _, name := range Outside() {
		to[name] = outside
	}
	for _, name := range slices.Sorted(maps.Keys(to)) {
		if err := link(filepath.Join(dir, name), to[name]); err != nil {
			return errors.Annotatef(err, "cannot link hook tool %q", name)
		}
	}
	return nil
}

func link(name, target string) error {
	if now, err := os.Readlink(name); err == nil && now == target {
		return nil
	}
	temporary := name + ".new"
	if err := os.Remove(temporary); err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	if err := os.Symlink(target, temporary); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.Rename(temporary, name))
}
