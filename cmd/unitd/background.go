package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
)

// agentLock is the lock file that a running agent holds; its content is the
// agent's process id. The kernel gives it back however the agent ends.
type agentLock struct{ file *os.File }

func lockPath() (string, error) {
	dir, err := dataDir()
	return filepath.Join(dir, "agent.lock"), errors.Trace(err)
}

// takeLock takes the lock for this process. The error is AlreadyExists, and
// names the process, if another agent has it.
func takeLock() (*agentLock, error) {
	path, err := lockPath()
	if err != nil {
		return nil, errors.Trace(err)
	}
	l, err := lockAt(path)
	if errors.Is(err, errors.AlreadyExists) {
		return nil, err
	}
	return l, errors.Annotate(err, "cannot lock the data directory")
}

// lockAt takes the lock file at path. Whoever finds it locked reads in it which
// process has it, to signal that one, so it says so before it is locked. Locked
// for sharing it is for nobody: whoever asks has it so for a moment, too. Of
// processes that begin at the same time the lock of its directory lets one
// after the other do this.
func lockAt(path string) (*agentLock, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer dir.Close()
	if err := flockSoon(dir); err != nil {
		return nil, errors.Trace(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err != nil {
		pid := readPid(f)
		f.Close()
		return nil, errors.NewAlreadyExists(nil, fmt.Sprintf("an agent is running already (process %d)", pid))
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err == nil {
		err = flockSoon(f)
	}
	if err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return &agentLock{f}, nil
}

// flockSoon locks a file that others lock for a moment only. It gives up on one
// that a stopped process has, such as a "unitd wait" after Ctrl-Z.
func flockSoon(f *os.File) error {
	var err error
	for range 100 {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != syscall.EWOULDBLOCK {
			return errors.Trace(err)
		}
		time.Sleep(10 * time.Millisecond)
	}
	return errors.Annotatef(err, "another process keeps %s locked", f.Name())
}

func readPid(f *os.File) int {
	b, _ := io.ReadAll(io.NewSectionReader(f, 0, 32))
	pid, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	return pid
}

func (l *agentLock) release() { l.file.Close() }

// release gives up the lock once the store is closed: who waits for the end of
// the agent, as shutdown does, finds all of the store in its file.
func (a *app) release(l *agentLock) {
	a.close()
	l.release()
}

// runningAgent is the process id of the agent that holds the lock; 0: none.
func runningAgent() (int, error) {
	path, err := lockPath()
	if err != nil {
		return 0, errors.Trace(err)
	}
	pid, err := holder(path)
	return pid, errors.Trace(err)
}

// holder is the process that has locked the file at path; 0: none.
func holder(path string) (int, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return 0, nil
	}
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer f.Close()
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return 0, nil
	}
	pid := readPid(f)
	if pid <= 0 {
		return 0, errors.Errorf("something has locked %s that doesn't say which process it is", path)
	}
	return pid, nil
}

// ensureAgent starts an agent in the background if none runs, and says so. Where
// another host's manages the models, none is needed here; the error says so if that
// one is gone.
func (a *app) ensureAgent() error {
	pid, err := runningAgent()
	if err != nil {
		return errors.Trace(err)
	}
	if pid != 0 {
		return a.servedBy()
	}
	if _, inLab, err := labTime(); err != nil || inLab {
		return errors.Trace(err) // the script has its own
	}
	dir, err := dataDir()
	if err != nil {
		return errors.Trace(err)
	}
	managed, err := a.managedElsewhere(dir)
	switch {
	case err != nil:
		return err
	case managed != nil && managed.Alive:
		a.elsewhere = true
		return nil // it has seen what there is to do
	case managed != nil:
		return a.toDo(managed)
	}
	if joined, err := readJoin(dir); err != nil {
		return err
	} else if err := a.ownStore(); joined == nil && err != nil {
		return errors.New(err.Error())
	}
	return a.startAgent(dir)
}

// servedBy says whether what this command asks for is done: by the agent that runs
// here, or by another host's.
func (a *app) servedBy() error {
	dir, err := dataDir()
	if err != nil {
		return errors.Trace(err)
	}
	err = a.sameStore(dir)
	if err == nil {
		return nil
	}
	if managed, managedErr := a.managedElsewhere(dir); managedErr == nil && managed != nil && managed.Alive {
		a.elsewhere = true
		return nil
	}
	return err
}

// startAgent starts an agent of the data directory, and waits until it is ready.
func (a *app) startAgent(dir string) error {
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
	pid, err := a.beginAgent(dir, log, tell)
	tell.Close()
	if err != nil {
		return err
	}
	// The agent closes its end when it is ready, or when it has ended.
	said, err := io.ReadAll(ready)
	if err != nil || string(said) != readyWord {
		if other, _ := runningAgent(); other != 0 {
			return nil // somebody else's was faster
		}
		if managed, err := a.managedElsewhere(dir); err == nil && managed != nil {
			return a.toDo(managed)
		}
		return errors.Errorf("cannot start an agent: see %s", log.Name())
	}
	a.note("started an agent in the background (process %d); \"unitd shutdown\" ends it", pid)
	return nil
}

// beginAgent starts the process of an agent, which prints to a file, and tells by
// another that it is ready.
func (a *app) beginAgent(dir string, log, tell *os.File) (pid int, err error) {
	self, err := stableSelf(dir)
	if err != nil {
		return 0, errors.Trace(err)
	}
	store, err := a.storeName()
	if err != nil {
		return 0, err
	}
	cmd := exec.Command(self, "agent")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "UNITD_DATA="+dir, storeVariable+"="+store, readyVariable+"=3")
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

// tellReady tells who started this agent that it is ready.
func tellReady() {
	fd, err := strconv.Atoi(os.Getenv(readyVariable))
	if err != nil || fd < 3 {
		return
	}
	os.Unsetenv(readyVariable)
	f := os.NewFile(uintptr(fd), "ready")
	_, _ = io.WriteString(f, readyWord) // nobody listens any more: so be it
	f.Close()
}

// stableSelf is this program at a path that stays: what "go run" has built is
// removed when it ends, so that is copied into the data directory first.
func stableSelf(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", errors.Annotate(err, "cannot find this program")
	}
	if !strings.Contains(self, string(filepath.Separator)+"go-build") {
		return self, nil
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return "", errors.Annotate(err, "cannot read this program")
	}
	sum := sha256.Sum256(b)
	bin := filepath.Join(dir, "bin", hex.EncodeToString(sum[:6]))
	path := filepath.Join(bin, "unitd")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot keep this program")
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temp, b, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot keep this program")
	}
	return path, errors.Annotate(os.Rename(temp, path), "cannot keep this program")
}

// toolClient is the program that hook tool names are linked to: the small
// client beside unitd, else unitd itself.
func toolClient(dir string) (string, error) {
	self, err := stableSelf(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	for _, name := range []string{"unitd-hooktool", "hooktool"} {
		path := filepath.Join(filepath.Dir(self), name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return self, nil
}

// fastClient is the client in C beside unitd, where there is one that runs here;
// empty: there is none. What says nothing that it should is none: it may have
// been built for another machine.
func fastClient(dir string) (string, error) {
	self, err := stableSelf(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	path := filepath.Join(filepath.Dir(self), "unitd-hooktool-c")
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = []string{}
	if out, _ := cmd.CombinedOutput(); string(out) != "ERROR JUJU_CONTEXT_ID not set\n" {
		return "", nil
	}
	return path, nil
}

// waitForEnd waits until no agent holds the lock.
func waitForEnd(ctx context.Context) error {
	path, err := lockPath()
	if err != nil {
		return errors.Trace(err)
	}
	f, err := os.Open(path)
	if err != nil {
		return errors.Trace(err)
	}
	free := make(chan error, 1)
	go func() {
		defer f.Close()
		free <- syscall.Flock(int(f.Fd()), syscall.LOCK_SH)
	}()
	select {
	case err := <-free:
		return errors.Trace(err)
	case <-ctx.Done():
		return errors.Trace(ctx.Err())
	}
}

// shutdownTime is how long an agent has to end its hooks.
const shutdownTime = 30 * time.Second
