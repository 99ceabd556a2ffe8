package agent

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/service"
)

// Ensure starts an agent in the background if none runs, and says so. Where
// another host's manages the models, or one that serves its store, none is needed
// here; the error says so if that one is gone.
func (h *Host) Ensure() error {
	if h.StoreIsServed() {
		h.elsewhere = true
		return nil
	}
	pid, err := Running()
	if err != nil {
		return errors.Trace(err)
	}
	if pid != 0 {
		return h.servedBy()
	}
	if _, inLab, err := LabTime(); err != nil || inLab {
		return errors.Trace(err) // the script has its own
	}
	dir, err := DataDir()
	if err != nil {
		return errors.Trace(err)
	}
	managed, err := h.ManagedElsewhere(dir)
	switch {
	case err != nil:
		return err
	case managed != nil && managed.Alive:
		h.elsewhere = true
		return nil // it has seen what there is to do
	case managed != nil:
		return h.ToDo(managed)
	}
	if joined, err := ReadJoin(dir); err != nil {
		return err
	} else if err := h.ownStore(); joined == nil && err != nil {
		return errors.New(err.Error())
	}
	return h.startAgent(dir)
}

// servedBy says whether what this command asks for is done: by the agent that runs
// here, or by another host's.
func (h *Host) servedBy() error {
	dir, err := DataDir()
	if err != nil {
		return errors.Trace(err)
	}
	err = h.SameStore(dir)
	if err == nil {
		return nil
	}
	if managed, managedErr := h.ManagedElsewhere(dir); managedErr == nil && managed != nil && managed.Alive {
		h.elsewhere = true
		return nil
	}
	return err
}

// startAgent starts an agent of the data directory, and waits until it is ready.
func (h *Host) startAgent(dir string) error {
	log, err := os.OpenFile(filepath.Join(dir, agentLogFile), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot start an agent")
	}
	defer log.Close()
	ready, tell, err := os.Pipe()
	if err != nil {
		return errors.Annotate(err, "cannot start an agent")
	}
	defer ready.Close()
	pid, err := h.beginAgent(dir, log, tell)
	tell.Close()
	if err != nil {
		return err
	}
	// The agent closes its end when it is ready, or when it has ended.
	said, err := io.ReadAll(ready)
	if err != nil || string(said) != readyWord {
		if other, _ := Running(); other != 0 {
			return nil // somebody else's was faster
		}
		if managed, err := h.ManagedElsewhere(dir); err == nil && managed != nil {
			return h.ToDo(managed)
		}
		return errors.Errorf("cannot start an agent: see %s", log.Name())
	}
	h.Note("started an agent in the background (process %d); \"unitd shutdown\" ends it", pid)
	return nil
}

// beginAgent starts the process of an agent, which prints to a file, and tells by
// another that it is ready.
func (h *Host) beginAgent(dir string, log, tell *os.File) (pid int, err error) {
	self, err := StableSelf(dir)
	if err != nil {
		return 0, errors.Trace(err)
	}
	store, err := h.StoreName()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, "agent")
	cmd.Dir = dir
	// Whatever service this command is of, the agent isn't.
	env := slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains(service.Variables(), name)
	})
	cmd.Env = append(env, "UNITD_DATA="+dir, storeVariable+"="+store, readyVariable+"=3", backgroundVariable+"=yes")
	cmd.Stdout, cmd.Stderr = log, log
	cmd.ExtraFiles = []*os.File{tell}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Start(); err != nil {
		return 0, errors.Annotate(err, "cannot start an agent")
	}
	pid = cmd.Process.Pid
	return pid, errors.Trace(cmd.Process.Release())
}

// A background agent says that it is ready by writing readyWord to the file
// whose number is in readyVariable.
const (
	readyVariable = "UNITD_READY_FD"
	readyWord     = "ready"
)

// backgroundVariable marks the environment of an agent that a command has begun in the background,
// also once it was upgraded.
const backgroundVariable = "UNITD_BACKGROUND"

// TellReady tells who started this agent that it is ready.
func TellReady() {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil || fd < 3 {
		return
	}
	os.Unsetenv(readyVariable)
	f := os.NewFile(uintptr(fd), "ready")
	_, _ = io.WriteString(f, readyWord) // nobody listens any more: so be it
	f.Close()
}
