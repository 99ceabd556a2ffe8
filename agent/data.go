package agent

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// dataVariable names the data directory.
const dataVariable = "UNITD_DATA"

// DataDirPath is where unitd keeps everything.
func DataDirPath() (string, error) {
	dir := os.Getenv(dataVariable)
	if dir == "" {
		base := os.Getenv("XDG_DATA_HOME")
		if base == "" {
			home, err := os.UserHomeDir()
			if err != nil {
				return "", errors.New("cannot tell where to keep data: set HOME or UNITD_DATA")
			}
			base = filepath.Join(home, ".local", "share")
		}
		dir = filepath.Join(base, "unitd")
	}
	dir, err := filepath.Abs(dir)
	return dir, errors.Annotate(err, "cannot find the data directory")
}

// DataDir is where unitd keeps everything; it is made, for its owner alone, if
// it isn't there.
func DataDir() (string, error) {
	dir, err := DataDirPath()
	if err != nil {
		return "", errors.Trace(err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot make the data directory (UNITD_DATA)")
	}
	return dir, nil
}

// Alone is the environment of an agent with a data directory of its own, which
// nothing concerns that this process was told of models and stores.
func Alone(dir string) []string {
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		return strings.HasPrefix(v, "UNITD_") || strings.HasPrefix(v, "JUJU_")
	})
	return append(env, dataVariable+"="+dir)
}
