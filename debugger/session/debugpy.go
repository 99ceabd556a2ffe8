package session

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// Debugpy has a charm's program run under debugpy, which editors attach to.
type Debugpy struct {
	// Python is the interpreter of this host that has debugpy, and Package the
	// directory of that.
	Python  string `json:"python"`
	Package string `json:"package"`
	// Port is on 127.0.0.1.
	Port int `json:"port"`
}

// FindDebugpy finds the python3 of this PATH, which has to have debugpy, and a port: the
// one that is wanted, or any; 0: any. The error says what is missing.
func FindDebugpy(port int) (*Debugpy, error) {
	python, err := exec.LookPath("python3")
	if err != nil {
		return nil, errors.NewNotFound(nil, "there is no python3 on the PATH")
	}
	out, err := exec.Command(python, "-c", "import debugpy, os; print(os.path.dirname(debugpy.__file__))").Output()
	if err != nil {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("%s has no debugpy: install it by \"python3 -m pip install debugpy\", or run this where it is", python))
	}
	l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return nil, errors.NewAlreadyExists(nil, fmt.Sprintf("port %d of 127.0.0.1 is taken; --port 0 takes another one", port))
	}
	defer l.Close()
	return &Debugpy{Python: python, Package: strings.TrimSpace(string(out)), Port: l.Addr().(*net.TCPAddr).Port}, nil
}

// pythonShim is the program that hooks find as python3. The first program in Python
// of a run that is a file is debugged; what that starts, and what its dispatch asks of
// Python on the way, isn't.
const pythonShim = `#!/bin/sh
here=$(dirname "$0")
for packages in "$here"/../lib/python*/site-packages; do
	# A virtual environment that was made of this program.
	[ -d "$packages" ] && export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}$packages"
done
case $1 in
*.py) if mkdir %[1]s/taken 2>/dev/null; then
	export PYTHONPATH="${PYTHONPATH:+$PYTHONPATH:}"%[1]s/packages PYDEVD_DISABLE_FILE_VALIDATION=1
	exec %[2]s -m debugpy --listen 127.0.0.1:%[3]d --wait-for-client "$@"
fi;;
esac
exec %[2]s "$@"
`

// install puts what has the hook's Python be debugged into a directory of its own, and
// returns the environment with that.
func (d *Debugpy) install(dir string, env []string) ([]string, error) {
	bin, packages := filepath.Join(dir, "bin"), filepath.Join(dir, "packages")
	for _, made := range []string{bin, packages} {
		if err := os.Mkdir(made, 0o700); err != nil {
			return nil, errors.Trace(err)
		}
	}
	if err := os.Symlink(d.Package, filepath.Join(packages, "debugpy")); err != nil {
		return nil, errors.Trace(err)
	}
	shim := fmt.Sprintf(pythonShim, quoted(dir), quoted(d.Python), d.Port)
	for _, name := range []string{"python3", "python"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(shim), 0o700); err != nil {
			return nil, errors.Trace(err)
		}
	}
	with := append([]string{}, env...)
	for i, v := range with {
		if path, ok := strings.CutPrefix(v, "PATH="); ok {
			with[i] = "PATH=" + bin + string(os.PathListSeparator) + path
		}
	}
	return with, nil
}

// attach is what a person reads who is to attach an editor.
func (d *Debugpy) attach(dir string) string {
	return fmt.Sprintf(`debugpy waits on 127.0.0.1:%d for an editor. VS Code's launch.json:
  {"name": "unitd", "type": "debugpy", "request": "attach", "connect": {"host": "127.0.0.1", "port": %d},
   "pathMappings": [{"localRoot": "${workspaceFolder}", "remoteRoot": %q}]}
`, d.Port, d.Port, dir)
}
