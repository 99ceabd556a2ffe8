package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/machine"
)

// handoverVariable has the number of the file with a handed, in the environment of a program
// that an agent becomes.
const handoverVariable = "UNITD_HANDOVER"

// handed is machine.Handover with the numbers of its files, which a process keeps as it
// becomes another program.
type handed struct {
	machine.Handover
	// Lock is that of the data directory.
	Lock  int
	Files []handedFiles // in the order of Runs
}

// handedFiles are those of a run; 0: there is none.
type handedFiles struct {
	Socket int
	Output [2]int
}

// checkTime bounds how long a program may take to say what it can take over.
const checkTime = 30 * time.Second

// upgrade is machine.Config.Upgrade: it has this process become a program that can take
// over. environ is the environment that this one has begun with.
func upgrade(lock *Lock, environ []string, flush func(), leave func() (back func())) func(context.Context, machine.HandOver, string) error {
	return func(ctx context.Context, handOver machine.HandOver, program string) error {
		if err := takesOver(ctx, program); err != nil {
			return err
		}
		checked := time.Now()
		flush() // while no hook is held up
		return handOver(ctx, func(h machine.Handover) error {
			if time.Since(checked) > checkAgain { // it may be another program by now
				if err := takesOver(ctx, program); err != nil {
					return err
				}
			}
			back := leave() // what no other program can take over
			defer back()
			return become(ctx, program, environ, lock, h)
		})
	}
}

// checkAgain is after how long what a program says that it can take over is asked again.
const checkAgain = 5 * time.Second

// takesOver is the error of a program to which this one can't hand over.
func takesOver(ctx context.Context, program string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "agent", "--takes-over")
	cmd.Env = []string{"HOME=" + os.Getenv("HOME")}
	out, err := cmd.Output()
	if err != nil {
		return errors.Errorf("the agent goes on as it was: %s isn't a unitd that can take over (%v)", program, err)
	}
	if got, want := strings.TrimSpace(string(out)), machine.HandoverForm(); got != want {
		return errors.Errorf("the agent goes on as it was: %s %s %s, and this agent's is of form %s", program, machine.OtherForm, got, want)
	}
	return nil
}

// become has this process become a program. It returns if it can't.
func become(ctx context.Context, program string, environ []string, lock *Lock, h machine.Handover) error {
	var kept files
	defer kept.close()
	all := handed{Handover: h, Lock: kept.keep(lock.file)}
	for _, r := range h.Runs {
		all.Files = append(all.Files, handedFiles{kept.keep(r.Socket), [2]int{kept.keep(r.Output[0]), kept.keep(r.Output[1])}})
	}
	b, err := json.Marshal(all)
	if err == nil {
		err = kept.err
	}
	if err != nil {
		return errors.Annotate(err, "cannot hand over")
	}
	fd, err := unix.MemfdCreate("unitd-handover", unix.MFD_CLOEXEC) // of memory: it has secrets
	if err != nil {
		return errors.Annotate(err, "cannot hand over")
	}
	f := os.NewFile(uintptr(fd), "handover")
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return errors.Annotate(err, "cannot hand over")
	}
	environ = slices.DeleteFunc(slices.Clone(environ), func(v string) bool {
		return strings.HasPrefix(v, handoverVariable+"=") || strings.HasPrefix(v, readyVariable+"=")
	})
	environ = append(environ, fmt.Sprintf("%s=%d", handoverVariable, fd))
	err = execWith(ctx, append(kept.numbers, fd), program, append([]string{program}, os.Args[1:]...), environ)
	return errors.Annotatef(err, "the agent goes on as it was: it can't become %s", program)
}

// execWith has this process become a program with those files, unless ctx has ended. No other
// program that is started meanwhile gets them.
func execWith(ctx context.Context, numbers []int, program string, args, environ []string) error {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	if err := ctx.Err(); err != nil {
		return errors.Trace(err)
	}
	var limit unix.Rlimit
	limited := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil
	for _, fd := range numbers {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFD, 0); err != nil {
			return errors.Trace(err)
		}
	}
	err := syscall.Exec(program, args, environ)
	for _, fd := range numbers {
		unix.CloseOnExec(fd)
	}
	if limited { // Exec has set it to what other programs are to have
		_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
	}
	return err
}

// files are copies of those that a process keeps as it becomes another program.
type files struct {
	numbers []int
	err     error
}

// keep has a copy of a file be kept, and is its number; 0: there is none.
func (k *files) keep(f *os.File) int {
	if f == nil || k.err != nil {
		return 0
	}
	conn, err := f.SyscallConn()
	fd := 0
	if err == nil {
		// Fd would have the file block, and with it all copies of it.
		err = conn.Control(func(of uintptr) { fd, k.err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 3) })
	}
	if err != nil {
		k.err = err
	}
	if k.err != nil {
		return 0
	}
	k.numbers = append(k.numbers, fd)
	return fd
}

func (k *files) close() {
	for _, fd := range k.numbers {
		unix.Close(fd)
	}
}

// takeHandover is what was handed over to this process, with the lock of its data directory;
// nil: nothing was. What can't be read was handed over by no agent; then all is as after
// a crash.
func takeHandover() (*machine.Handover, *Lock, error) {
	text := os.Getenv(handoverVariable)
	if text == "" {
		return nil, nil, nil
	}
	os.Unsetenv(handoverVariable)
	fd, err := strconv.Atoi(text)
	if err != nil || fd < 3 {
		return nil, nil, errors.Errorf("cannot take over: %s=%s names no file", handoverVariable, text)
	}
	f := kept(fd, "handover")
	defer f.Close()
	var all handed
	if _, err = f.Seek(0, 0); err == nil {
		err = json.NewDecoder(f).Decode(&all)
	}
	if err != nil {
		return nil, nil, errors.Annotate(err, "cannot take over")
	}
	lock := kept(all.Lock, "agent.lock")
	if lock == nil {
		return nil, nil, errors.New("cannot take over: the lock of the data directory is missing")
	}
	for i, files := range all.Files {
		socket, output := kept(files.Socket, "socket"), [2]*os.File{kept(files.Output[0], "output"), kept(files.Output[1], "output")}
		if i < len(all.Runs) {
			all.Runs[i].Socket, all.Runs[i].Output = socket, output
		}
	}
	if all.Format != machine.HandoverFormat || len(all.Files) != len(all.Runs) {
		return nil, &Lock{lock}, errors.Errorf("cannot take over what is of format %d", all.Format)
	}
	return &all.Handover, &Lock{lock}, nil
}

// kept is the file with that number, which no program is to have that this one starts;
// nil: there is none.
func kept(fd int, name string) *os.File {
	if fd == 0 {
		return nil
	}
	unix.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), name)
}
