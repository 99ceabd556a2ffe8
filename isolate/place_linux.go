package isolate

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// placedCommand is the first argument of the process that PlaceCommand starts.
const placedCommand = "--placed"

// placeArgs is how many arguments both have at least: the program's name, the
// command, the new root, the directory, the path at which it is to be.
const placeArgs = 5

// Placed is a program with its arguments as it is to be run so that it finds a
// directory of the host, from, at the path to, which the host need not have, and all
// else as it is. program is unitd, root an empty directory, whose place nothing else
// may want. Nothing of it stays. The error is ErrNoRights where this user may make
// no mounts, not even in a user name space.
func Placed(program, root, from, to, path string, args ...string) (string, []string, error) {
	common := []string{PlaceCommand, root, from, to}
	if out, err := exec.Command(program, common...).CombinedOutput(); err != nil {
		why := strings.TrimSpace(string(out))
		if why == "" {
			why = err.Error()
		}
		return "", nil, errors.WithType(errors.Errorf("nothing can be had at %s here, which takes root or user name spaces: %s", to, why), ErrNoRights)
	}
	return program, append(append(common, path), args...), nil
}

// placeMain starts the program in mount name spaces of its own, and ends as it does.
// Without a program it says by its exit code whether it could.
func placeMain(args []string) int {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT)
	self, err := os.Executable()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return cannotRun
	}
	cmd := exec.Command(self, append([]string{placedCommand}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWNS}
	if uid, gid := os.Geteuid(), os.Getegid(); uid != 0 {
		cmd.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: uid, HostID: uid, Size: 1}}
		cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: gid, HostID: gid, Size: 1}}
		cmd.SysProcAttr.AmbientCaps = []uintptr{unix.CAP_SYS_ADMIN}
	}
	if err := cmd.Run(); cmd.ProcessState == nil {
		fmt.Fprintln(os.Stderr, err)
		return cannotRun
	}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return dieBy(status.Signal())
	}
	return cmd.ProcessState.ExitCode()
}

// placedMain makes the mounts, and becomes the program.
func placedMain(args []string) int {
	runtime.LockOSThread()
	fail := func(code int, err error) int {
		fmt.Fprintln(os.Stderr, err)
		return code
	}
	cwd, err := os.Getwd()
	if err != nil {
		return fail(cannotRun, err)
	}
	if err := placeRoot(args[0], args[1], args[2]); err != nil {
		return fail(cannotRun, err)
	}
	if len(args) == 3 {
		return 0
	}
	if err := os.Chdir(cwd); err != nil {
		return fail(cannotRun, err)
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fail(cannotRun, err)
	}
	err = syscall.Exec(args[3], args[3:], os.Environ())
	if errors.Is(err, syscall.ENOENT) {
		return fail(notFound, err)
	}
	return fail(cannotRun, err)
}

// placeRoot makes the root anew: of all that it has, and a directory at its place.
// What a directory at the top of the root has besides isn't seen, where the place is
// in it.
func placeRoot(root, from, to string) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return errors.Annotate(err, "cannot keep mounts apart")
	}
	held, err := unix.Open(from, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return errors.Trace(err)
	}
	defer unix.Close(held)
	if err := tmpfs(root, "mode=755,size=1m"); err != nil {
		return errors.Trace(err)
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return errors.Trace(err)
	}
	top, _, _ := strings.Cut(strings.TrimPrefix(to, "/"), "/")
	for _, e := range entries {
		if e.Name() == top {
			continue
		}
		if err := carryOver(e, filepath.Join(root, e.Name())); err != nil {
			return errors.Annotatef(err, "cannot have /%s in another root", e.Name())
		}
	}
	place := filepath.Join(root, to)
	if err := os.MkdirAll(place, 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := unix.Mount(fmt.Sprintf("/proc/self/fd/%d", held), place, "", unix.MS_BIND, ""); err != nil {
		return errors.Annotatef(err, "cannot have anything at %s", to)
	}
	if err := os.Chdir(root); err != nil {
		return errors.Trace(err)
	}
	if err := unix.PivotRoot(".", "."); err != nil {
		return errors.Annotate(err, "cannot change the root")
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return errors.Annotate(err, "cannot leave the former root")
	}
	return errors.Trace(os.Chdir("/"))
}

// carryOver has an entry of the root in another one.
func carryOver(e fs.DirEntry, target string) error {
	path := "/" + e.Name()
	switch {
	case e.Type()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		if err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(os.Symlink(to, target))
	case e.IsDir():
		if err := os.Mkdir(target, 0o755); err != nil {
			return errors.Trace(err)
		}
	default:
		if err := os.WriteFile(target, nil, 0o644); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(unix.Mount(path, target, "", unix.MS_BIND|unix.MS_REC, ""))
}
