package agent

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/workload"
)

// agentPathFile is a file of the data directory with the PATH that the agent's hooks
// have: it may have been started from another shell than a command.
const agentPathFile = "agent.path"

// rememberPath notes the PATH of the hooks of the agent in this process.
func rememberPath(dir, path string) error {
	err := durable.Disk{}.ReplaceFile(filepath.Join(dir, agentPathFile), []byte(path+"\n"), 0o600)
	return errors.Annotate(err, "cannot note the PATH of hooks")
}

// agentPebbleFile is a file of the data directory with the Pebble of the agent's
// containers; it is empty where the agent has found none.
const agentPebbleFile = "agent.pebble"

// rememberPebble notes the Pebble that the agent in this process has.
func rememberPebble(dir string) error {
	path, err := workload.FindPebble()
	if err != nil {
		path = "" // it is looked for again for each container, and said there
	}
	err = durable.Disk{}.ReplaceFile(filepath.Join(dir, agentPebbleFile), []byte(path+"\n"), 0o600)
	return errors.Annotate(err, "cannot note the Pebble of containers")
}

// HooksOf is where the hooks of an application with that isolation run: in the
// machines of its units, or where the agent does. One that is yet to be started has
// this process's PATH.
func HooksOf(i model.Isolation) (charmbuild.Place, error) {
	if i.On() {
		return charmbuild.Place{Path: isolate.Path, Root: i.Root}, nil
	}
	here := charmbuild.Place{Path: machine.LocalHost().Path}
	if _, inLab, err := LabTime(); err != nil || inLab {
		return here, err // the script's agent is this process's child
	}
	dir, err := DataDir()
	if err != nil {
		return here, err
	}
	here.Dir = dir
	pid, err := Running()
	if err != nil || pid == 0 || pid == os.Getpid() {
		return here, err
	}
	path, err := os.ReadFile(filepath.Join(dir, agentPathFile))
	if err == nil {
		here.Path = strings.TrimSuffix(string(path), "\n")
	}
	return here, nil // an agent of a former version has noted none
}

// HooksAnywhere is where the hooks of a charm run that is packed for others: they
// have the system's Python, where this host has one.
func HooksAnywhere() charmbuild.Place {
	return charmbuild.Place{Path: isolate.Path + string(os.PathListSeparator) + machine.LocalHost().Path}
}

// Pebble is the host's Pebble as the agent finds it: that of the running one, else
// this process's, which would start it; empty: there is none. The error is NotValid for
// a variable that names none.
func Pebble() (string, error) {
	path, err := workload.FindPebble()
	if errors.Is(err, errors.NotFound) {
		path, err = "", nil
	}
	if _, inLab, labErr := LabTime(); labErr != nil || inLab {
		return path, err
	}
	dir, dirErr := DataDirPath()
	if dirErr != nil {
		return path, err
	}
	pid, pidErr := Running()
	if pidErr != nil || pid == 0 || pid == os.Getpid() {
		return path, err
	}
	noted, readErr := os.ReadFile(filepath.Join(dir, agentPebbleFile))
	if readErr != nil {
		return path, err // an agent of a former version has noted none
	}
	return strings.TrimSpace(string(noted)), nil
}
