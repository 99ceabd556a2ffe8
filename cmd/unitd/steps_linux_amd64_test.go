package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"
)

// steps follows a process by its system calls, and kills it at one of those by which it
// does something that others see: who comes after finds what was done before, and nothing of
// what was to come. Between two of them it's all the same when it is killed.
type steps struct {
	pid    int
	killAt int // the number of the step; 0: it isn't killed

	seen   int
	what   string // the last step
	killed bool
	err    error
	ended  chan struct{} // once the process isn't followed any more
	stop   chan struct{} // closed by who wants that
	info   syscallInfo   // which the kernel fills in, and mustn't be moved
}

// Of ptrace, what package syscall hasn't.
const (
	ptraceSeize       = 0x4206
	ptraceInterrupt   = 0x4207
	ptraceListen      = 0x4208
	ptraceSyscallInfo = 0x420e
	ptraceEventStop   = 128
	ptraceOptions     = syscall.PTRACE_O_TRACESYSGOOD | syscall.PTRACE_O_TRACECLONE | syscall.PTRACE_O_TRACEEXEC
)

// followed begins to follow a process, with all its threads, and returns once it does.
func followed(pid, killAt int) (*steps, error) {
	s := &steps{pid: pid, killAt: killAt, ended: make(chan struct{}), stop: make(chan struct{})}
	begun := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlocked: who traces is this thread
		defer close(s.ended)
		err := s.seizeAll()
		begun <- err
		if err == nil {
			s.err = s.follow()
		}
	}()
	return s, <-begun
}

// let leaves the process alone, if it is there, and says whether it was killed.
func (s *steps) let() (killed bool, err error) {
	close(s.stop)
	_ = syscall.Kill(s.pid, syscall.SIGWINCH) // which it ignores: the follower looks up
	<-s.ended
	return s.killed, s.err
}

func ptrace(request, tid int, address, data uintptr) error {
	_, _, errno := syscall.RawSyscall6(syscall.SYS_PTRACE, uintptr(request), uintptr(tid), address, data, 0, 0)
	if errno != 0 {
		return errno
	}
	return nil
}

// seizeAll seizes the threads that there are; those that they make come by themselves.
func (s *steps) seizeAll() error {
	seized := map[string]bool{}
	for {
		tasks, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
		if err != nil {
			return err
		}
		before := len(seized)
		for _, task := range tasks {
			tid, err := strconv.Atoi(task.Name())
			if err != nil || seized[task.Name()] {
				continue
			}
			seized[task.Name()] = true
			if err := ptrace(ptraceSeize, tid, 0, ptraceOptions); err == syscall.ESRCH || err == syscall.EPERM && len(seized) > 1 {
				continue // it has ended, or came by itself
			} else if err != nil {
				return fmt.Errorf("cannot follow thread %d: %w", tid, err)
			}
			_ = ptrace(ptraceInterrupt, tid, 0, 0)
		}
		if len(seized) == before {
			return nil
		}
	}
}

func (s *steps) follow() error {
	for {
		var status syscall.WaitStatus
		tid, err := syscall.Wait4(-1, &status, syscall.WCLONE|syscall.WNOTHREAD, nil) // those that are followed, and no child of another test
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.ECHILD: // nobody is followed any more
			return nil
		case err != nil:
			return err
		case !status.Stopped():
			continue
		}
		select {
		case <-s.stop:
			if !s.killed {
				s.leave(tid, status)
				continue
			}
		default:
		}
		s.stopped(tid, status)
	}
}

// stopped has a thread that has stopped go on.
func (s *steps) stopped(tid int, status syscall.WaitStatus) {
	signal := status.StopSignal()
	event := int(status) >> 16
	switch {
	case signal == syscall.SIGTRAP|0x80:
		if !s.killed && s.isStep(tid) {
			s.seen++
			if s.seen == s.killAt {
				s.killed = true
				_ = syscall.Kill(s.pid, syscall.SIGKILL)
			}
		}
		signal = 0
	case event == ptraceEventStop && (signal == syscall.SIGSTOP || signal == syscall.SIGTSTP):
		_ = ptrace(ptraceListen, tid, 0, 0)
		return
	case event != 0:
		signal = 0
	}
	_ = ptrace(syscall.PTRACE_SYSCALL, tid, 0, uintptr(signal))
}

// leave lets go of a thread that has stopped, with the signal that it has got.
func (s *steps) leave(tid int, status syscall.WaitStatus) {
	signal := status.StopSignal()
	if signal == syscall.SIGTRAP|0x80 || int(status)>>16 != 0 {
		signal = 0
	}
	_ = ptrace(syscall.PTRACE_DETACH, tid, 0, uintptr(signal))
	tasks, _ := os.ReadDir(fmt.Sprintf("/proc/%d/task", s.pid))
	for _, task := range tasks {
		if other, err := strconv.Atoi(task.Name()); err == nil && other != tid {
			_ = ptrace(ptraceInterrupt, other, 0, 0)
		}
	}
}

// calls are the system calls that others see something of; with those that name a file by
// its descriptor, where that is a file or a socket.
var calls = map[uint64]struct {
	name         string
	byDescriptor bool
}{
	syscall.SYS_WRITE: {"write", true}, syscall.SYS_PWRITE64: {"pwrite64", true}, syscall.SYS_WRITEV: {"writev", true},
	syscall.SYS_SENDTO: {"sendto", true}, syscall.SYS_SENDMSG: {"sendmsg", true}, syscall.SYS_FTRUNCATE: {"ftruncate", true},
	syscall.SYS_FSYNC: {"fsync", true}, syscall.SYS_FDATASYNC: {"fdatasync", true}, syscall.SYS_FLOCK: {"flock", true},
	syscall.SYS_RENAME: {"rename", false}, syscall.SYS_RENAMEAT: {"renameat", false}, 316: {"renameat2", false},
	syscall.SYS_UNLINK: {"unlink", false}, syscall.SYS_UNLINKAT: {"unlinkat", false}, syscall.SYS_LINKAT: {"linkat", false},
	syscall.SYS_SYMLINKAT: {"symlinkat", false}, syscall.SYS_MKDIRAT: {"mkdirat", false},
	syscall.SYS_BIND: {"bind", false}, syscall.SYS_LISTEN: {"listen", false}, syscall.SYS_EXECVE: {"execve", false},
	syscall.SYS_KILL: {"kill", false}, 424: {"pidfd_send_signal", false},
}

// syscallInfo is what ptrace says of a thread that has stopped at a system call.
type syscallInfo struct {
	op     uint8 // 1: it's about to make it
	_      [23]byte
	number uint64
	args   [6]uint64
	_      [24]byte
}

// isStep says whether the system call that a thread is about to make is a step.
func (s *steps) isStep(tid int) bool {
	info := &s.info
	info.op = 0
	_ = ptrace(ptraceSyscallInfo, tid, unsafe.Sizeof(*info), uintptr(unsafe.Pointer(info)))
	runtime.KeepAlive(s)
	if info.op != 1 {
		return false
	}
	if info.number == syscall.SYS_OPENAT && info.args[2]&syscall.O_CREAT != 0 {
		s.what = "openat to create"
		return true
	}
	call, ok := calls[info.number]
	if !ok {
		return false
	}
	if !call.byDescriptor {
		s.what = call.name
		return true
	}
	file, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", s.pid, int32(info.args[0])))
	if err != nil || !strings.HasPrefix(file, "/") && !strings.HasPrefix(file, "socket:") {
		return false
	}
	s.what = call.name + " " + filepath.Base(file)
	return true
}

// TestHostAnAgentIsKilledAtEachStepOfAnUpgrade kills the agent before each system call of an
// upgrade that others see something of, in the program that hands over and in the one that
// takes over, with a hook that runs: nothing is lost or committed twice, and other units'
// hooks go on with the next agent.
func TestHostAnAgentIsKilledAtEachStepOfAnUpgrade(t *testing.T) {
	t.Parallel()
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("only with UNITD_TEST_LONG=1: it kills an agent some hundred times")
	}
	u := newUpgraded(t)
	u.must("unitd", "model-config", "automatically-retry-hooks=false")
	kills, whole := 0, 0 // whole: upgrades that had fewer steps
	for n := 1; whole < 2; n++ {
		if n > 900 {
			t.Fatal("an upgrade has too many steps")
		}
		u.must("unitd", "config", "waits", "n="+strconv.Itoa(n))
		u.begins(n)
		s, err := followed(u.agent(), n)
		if n == 1 && errors.Is(err, syscall.EPERM) {
			t.Skipf("processes can't be followed here: %v", err)
		}
		if err != nil {
			t.Fatal(err)
		}
		said, failed := u.command("unitd", "agent", "--upgrade")
		killed, err := s.let()
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case killed:
			u.hasEnded()
			whole = 0
			kills++
		case failed != nil:
			t.Fatalf("after %d steps, the upgrade says %s", s.seen, said)
		default:
			whole++
		}
		t.Logf("%d: killed: %t, before %s", n, killed, s.what)
		u.commitsOnce(n, killed)
	}
	if kills < 40 {
		t.Errorf("it was killed %d times: aren't the steps seen?", kills)
	}
}
