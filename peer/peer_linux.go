package peer

import (
	"cmp"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/threads"
)

// Of is who made a connection, or listens for it.
func Of(conn *net.UnixConn) (Who, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return Who{}, errors.Trace(err)
	}
	var who *unix.Ucred
	var serr error
	if err := raw.Control(func(fd uintptr) { who, serr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return Who{}, errors.Trace(err)
	}
	if serr != nil {
		return Who{}, errors.Trace(serr)
	}
	return Who{int(who.Pid), int(who.Uid), int(who.Gid)}, nil
}

// Root is who is root where the process at the other end of a connection runs: others than
// this process's root, where that is in a user name space that root has made.
func Root(conn *net.UnixConn) (Who, error) {
	who, err := Of(conn)
	if err != nil {
		return Who{}, errors.Trace(err)
	}
	for file, to := range map[string]*int{"uid_map": &who.UID, "gid_map": &who.GID} {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", who.PID, file))
		if err != nil {
			return Who{}, errors.Trace(err)
		}
		if *to, err = rootOf(string(b)); err != nil {
			return Who{}, errors.Annotatef(err, "cannot tell who is root for process %d", who.PID)
		}
	}
	return who, nil
}

// rootOf is whom 0 stands for in a mapping of ids, as the kernel prints it.
func rootOf(mapping string) (int, error) {
	for line := range strings.Lines(mapping) {
		var inside, host, size int
		if _, err := fmt.Sscan(line, &inside, &host, &size); err != nil {
			return 0, errors.Annotatef(err, "the mapping %q", line)
		}
		if inside == 0 {
			return host, nil
		}
	}
	return 0, errors.NotFoundf("0 in the mapping %q", mapping)
}

// Dial connects to a socket, however long its path is, from an address, which may be nil.
func Dial(path string, from *net.UnixAddr) (*net.UnixConn, error) {
	return inProc(path, func(path string) (*net.UnixConn, error) {
		return net.DialUnix("unix", from, &net.UnixAddr{Name: path, Net: "unix"})
	})
}

// Plain is a short path of the socket at path until leave is called: those of sockets must be
// short, and the agent's directory may be anywhere. Neither the socket nor the directory
// that it is in may be a link, which whoever can write there could have made to
// somebody else's socket. The error is the operating system's, ELOOP where there is one.
func Plain(path string) (short string, leave func(), err error) {
	dir, name := filepath.Split(path)
	above, of := filepath.Split(filepath.Clean(dir))
	at, err := unix.Open(cmp.Or(above, "."), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: above, Err: err}
	}
	defer unix.Close(at)
	fd, err := unix.Openat2(at, filepath.Join(of, name), &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return fmt.Sprintf("/proc/self/fd/%d", fd), func() { unix.Close(fd) }, nil
}

// inProc calls do with a path that Plain has found.
func inProc(path string, do func(path string) (*net.UnixConn, error)) (*net.UnixConn, error) {
	short, leave, err := Plain(path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer leave()
	return do(short)
}

// Listen makes a Unix socket, however long its path is.
func Listen(path string) (*net.UnixListener, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), Net: "unix"})
}

// DialAs connects as somebody, with that one's rights. Whoever isn't root can do so as
// himself only, and others can't be in what is his.
func DialAs(path string, who Who) (*net.UnixConn, error) {
	if who.UID == os.Geteuid() && who.GID == os.Getegid() || os.Geteuid() != 0 {
		return Dial(path, nil)
	}
	return inProc(path, func(path string) (*net.UnixConn, error) {
		var conn *net.UnixConn
		err := threads.Lost(func() (err error) { // whose rights are given up
			conn, err = dialWith(path, who)
			return err
		})
		return conn, err
	})
}

// patience is how long a socket's queue may be full, in seconds.
const patience = 30

// dialWith gives up the thread's rights but for those of that user, and connects.
func dialWith(path string, who Who) (*net.UnixConn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	f := os.NewFile(uintptr(fd), "unix socket")
	defer f.Close()
	if err := unix.Setgroups(nil); err != nil { // of this thread
		return nil, errors.Trace(err)
	}
	const same = ^uintptr(0)
	for _, set := range []struct {
		call uintptr
		id   int
	}{{unix.SYS_SETRESGID, who.GID}, {unix.SYS_SETRESUID, who.UID}} {
		if _, _, err := syscall.RawSyscall(set.call, same, uintptr(set.id), same); err != 0 {
			return nil, errors.Trace(err)
		}
	}
	// A full queue of one that hangs is waited for, but not for ever.
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &unix.Timeval{Sec: patience}); err != nil {
		return nil, errors.Trace(err)
	}
	if err := unix.Connect(fd, &unix.SockaddrUnix{Name: path}); err != nil {
		return nil, errors.Trace(err)
	}
	conn, err := net.FileConn(f)
	if err != nil {
		return nil, errors.Trace(err)
	}
	is, ok := conn.(*net.UnixConn)
	if !ok {
		conn.Close()
		return nil, errors.Errorf("a connection of type %T", conn)
	}
	return is, nil
}
