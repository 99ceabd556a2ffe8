package tap

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// peer is who is at the other end of a connection, by the numbers that the agent
// knows them by.
type peer struct{ pid, uid, gid int }

func peerOf(conn *net.UnixConn) (peer, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return peer{}, errors.Trace(err)
	}
	var who *unix.Ucred
	var serr error
	if err := raw.Control(func(fd uintptr) { who, serr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil {
		return peer{}, errors.Trace(err)
	}
	if serr != nil {
		return peer{}, errors.Trace(serr)
	}
	return peer{int(who.Pid), int(who.Uid), int(who.Gid)}, nil
}

// inProc calls do with a short path of what is at path: those of sockets must be
// short, and the agent's directory may be anywhere.
func inProc(path string, do func(path string) (*net.UnixConn, error)) (*net.UnixConn, error) {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer unix.Close(fd)
	return do(fmt.Sprintf("/proc/self/fd/%d", fd))
}

// Listen makes a unix socket, however long its path is.
func Listen(path string) (*net.UnixListener, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return net.ListenUnix("unix", &net.UnixAddr{Name: fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), Net: "unix"})
}

func dial(path string, from *net.UnixAddr) (*net.UnixConn, error) {
	return inProc(path, func(path string) (*net.UnixConn, error) {
		return net.DialUnix("unix", from, &net.UnixAddr{Name: path, Net: "unix"})
	})
}

// dialAs connects as that user. Whoever isn't root can do so as himself only, and
// others can't be in what is his.
func dialAs(path string, who peer) (*net.UnixConn, error) {
	if who.uid == os.Geteuid() && who.gid == os.Getegid() || os.Geteuid() != 0 {
		return dial(path, nil)
	}
	return inProc(path, func(path string) (*net.UnixConn, error) {
		type dialed struct {
			conn *net.UnixConn
			err  error
		}
		done := make(chan dialed)
		go func() {
			runtime.LockOSThread() // the rights are the thread's, which ends with this goroutine
			conn, err := dialWith(path, who)
			done <- dialed{conn, err}
		}()
		d := <-done
		return d.conn, d.err
	})
}

// dialWith gives up the thread's rights but for those of that user, and connects.
func dialWith(path string, who peer) (*net.UnixConn, error) {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	f := os.NewFile(uintptr(fd), "pebble.socket")
	defer f.Close()
	const same = ^uintptr(0)
	for _, set := range []struct {
		call uintptr
		id   int
	}{{unix.SYS_SETRESGID, who.gid}, {unix.SYS_SETRESUID, who.uid}} {
		if _, _, err := syscall.RawSyscall(set.call, same, uintptr(set.id), same); err != 0 {
			return nil, errors.Trace(err)
		}
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
