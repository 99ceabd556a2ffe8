package workload

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// PebbleVariable names the Pebble of all containers that are started.
const PebbleVariable = "UNITD_PEBBLE"

// inImages are where images have a Pebble of their own, as rocks do.
var inImages = []string{"usr/bin/pebble", "bin/pebble", "charm/bin/pebble"}

// FindPebble is the path, without links, of the host's Pebble: what UNITD_PEBBLE says, or
// what the PATH has. The error is NotFound where there is none, or NotValid where what
// UNITD_PEBBLE says isn't a program.
func FindPebble() (string, error) {
	if path := os.Getenv(PebbleVariable); path != "" {
		abs, err := filepath.Abs(path)
		if err == nil {
			_, err = exec.LookPath(abs)
		}
		if err == nil {
			abs, err = filepath.EvalSymlinks(abs)
		}
		if err != nil {
			return "", errors.NewNotValid(err, PebbleVariable+"="+path)
		}
		return abs, nil
	}
	path, err := exec.LookPath("pebble")
	if err == nil {
		path, err = filepath.Abs(path)
	}
	if err == nil {
		path, err = filepath.EvalSymlinks(path)
	}
	if err != nil {
		return "", errors.NewNotFound(nil, "there is no Pebble on this host")
	}
	return path, nil
}

// pebbleOf is the Pebble that an image has, as a path of the host; empty: none.
func pebbleOf(layers []string) string {
	for _, name := range inImages {
		for _, layer := range layers {
			f, err := openIn(layer, name)
			if errors.Is(err, errRemoved) {
				break
			}
			if err != nil {
				continue
			}
			st, err := f.Stat()
			f.Close()
			if err != nil || st.Mode()&0o111 == 0 {
				continue
			}
			path, err := filepath.EvalSymlinks(filepath.Join(layer, name))
			if err == nil && strings.HasPrefix(path, strings.TrimSuffix(layer, "/")+"/") {
				return path
			}
		}
	}
	return ""
}

// setDefault adds a variable to an environment that hasn't got it.
func setDefault(env []string, name, value string) []string {
	if slices.ContainsFunc(env, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
		return env
	}
	return append(env, name+"="+value)
}
