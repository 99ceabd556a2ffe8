package testcharms

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/juju/errors"
)

// programsVariable names a directory that has the programs already: "make test"
// builds them once for the tests of all packages.
const programsVariable = "UNITD_TEST_PROGRAMS"

// Programs returns a directory with unitd and, beside it, unitd-hooktool. They are
// built once for all tests of a process, whose TestMain calls RemovePrograms, unless
// $UNITD_TEST_PROGRAMS has them. The error says what the compiler does.
func Programs() (string, error) { return both() }

// Client returns the path of unitd-hooktool, as Programs does.
func Client() (string, error) {
	dir, err := client()
	return filepath.Join(dir, "unitd-hooktool"), err
}

// RemovePrograms removes what was built.
func RemovePrograms() {
	built.Lock()
	defer built.Unlock()
	for _, dir := range built.dirs {
		_ = os.RemoveAll(dir)
	}
	built.dirs = nil
}

var (
	both   = sync.OnceValues(func() (string, error) { return build("unitd", "unitd-hooktool") })
	client = sync.OnceValues(func() (string, error) { return build("unitd-hooktool") })
	built  struct {
		sync.Mutex
		dirs []string
	}
)

// build builds the programs into a directory of their own.
func build(programs ...string) (string, error) {
	if dir := os.Getenv(programsVariable); dir != "" {
		for _, name := range programs { // looked at, they are part of what a kept result of the tests is valid for
			if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
				return "", errors.Annotatef(err, "%s has no %s", programsVariable, name)
			}
		}
		return dir, nil
	}
	dir, err := os.MkdirTemp("", "unitd-test-")
	if err != nil {
		return "", errors.Trace(err)
	}
	built.Lock()
	built.dirs = append(built.dirs, dir)
	built.Unlock()
	for _, name := range programs {
		pkg, cgo := "./cmd/unitd", os.Getenv("CGO_ENABLED")
		if name == "unitd-hooktool" {
			pkg, cgo = "./cmd/hooktool", "0"
		}
		cmd := exec.Command("go", "build", "-buildvcs=false", "-ldflags=-s -w", "-o", filepath.Join(dir, name), pkg)
		cmd.Dir, cmd.Env = filepath.Dir(Dir("")), append(os.Environ(), "CGO_ENABLED="+cgo)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.Errorf("cannot build %s: %v\n%s", name, err, out)
		}
	}
	return dir, nil
}
