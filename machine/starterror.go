package machine

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"github.com/unitd/unitd/durable"
)

// StartError says why a hook's executable could not be started; the system's
// own words don't tell a missing hook from a missing interpreter.
func StartError(path string, err error) string {
	name := filepath.Base(path)
	switch {
	case errors.Is(err, os.ErrPermission):
		return fmt.Sprintf("cannot run %s: it is not executable (chmod +x it in the charm)", name)
	case errors.Is(err, os.ErrNotExist):
		return fmt.Sprintf("cannot run %s: %s", name, missing(path))
	case errors.Is(err, syscall.ETXTBSY):
		return fmt.Sprintf("cannot run %s: somebody is still writing to it", name)
	case errors.Is(err, syscall.ENOEXEC):
		return fmt.Sprintf("cannot run %s: it is neither a program for this machine nor a script that begins with #!", name)
	}
	return fmt.Sprintf("cannot run %s: %v", name, err)
}

// missing says what isn't there of a hook that the system doesn't find.
func missing(path string) string {
	line, err := firstLine(path)
	if os.IsNotExist(err) {
		return "it is gone"
	}
	interpreter, script := interpreterOf(line)
	if err != nil || !script {
		return "the program that is to load it is not on this machine"
	}
	why := fmt.Sprintf("its interpreter %q is not on this machine", interpreter)
	if strings.HasSuffix(interpreter, "\r") {
		why += ` (\r: end its lines with LF, not CR LF)`
	}
	return why
}

// interpreterOf is the program that a script's first line names, as the system
// reads it: up to the first blank. false: it is no script's.
func interpreterOf(line string) (string, bool) {
	interpreter, script := strings.CutPrefix(line, "#!")
	interpreter = strings.TrimLeft(interpreter, " \t")
	if i := strings.IndexAny(interpreter, " \t"); i >= 0 {
		interpreter = interpreter[:i]
	}
	return interpreter, script
}

// firstLine is the first line of a file, as much of it as the system looks at.
func firstLine(path string) (string, error) {
	f, err := durable.OpenRegular("", path)
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 256))
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return string(line), errors.Trace(err)
}
