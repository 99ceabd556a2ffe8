package isolate

import (
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/juju/errors"
)

// maxFiles is how many files come with one message.
const maxFiles = 8

// send sends a message, with files.
func send(conn *net.UnixConn, v any, fds []int) error {
	b, err := frame(v)
	if err != nil {
		return errors.Trace(err)
	}
	var rights []byte
	if len(fds) > 0 {
		rights = syscall.UnixRights(fds...)
	}
	n, _, err := conn.WriteMsgUnix(b, rights, nil)
	if err == nil && n < len(b) {
		_, err = conn.Write(b[n:])
	}
	return errors.Trace(err)
}

// receive reads a message and its files, which are the caller's also where
// there is an error.
func receive(conn *net.UnixConn, v any) ([]*os.File, error) {
	head, rights := make([]byte, 4), make([]byte, syscall.CmsgSpace(4*maxFiles))
	n, rn, _, _, err := conn.ReadMsgUnix(head, rights)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var files []*os.File
	messages, err := syscall.ParseSocketControlMessage(rights[:rn])
	for _, m := range messages {
		fds, err := syscall.ParseUnixRights(&m)
		if err != nil {
			continue // credentials, or what else there may be
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	if err == nil {
		err = readFrame(conn, head[:n], v)
	}
	return files, errors.Trace(err)
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

// socketName is the socket of a cell's init in the cell's directory.
const socketName = "init.socket"

// short is a path of the file in dir that fits into a socket's address, however
// long dir's is, until done is called.
func short(dir, name string) (path string, done func(), err error) {
	fd, err := syscall.Open(dir, syscall.O_RDONLY|syscall.O_DIRECTORY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, errors.Annotatef(err, "cannot open %s", dir)
	}
	f := os.NewFile(uintptr(fd), dir)
	return "/proc/self/fd/" + strconv.Itoa(fd) + "/" + name, func() { f.Close() }, nil
}

// listen makes the socket of a cell anew.
func listen(dir string) (*net.UnixListener, error) {
	path, done, err := short(dir, socketName)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer done()
	if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, errors.Trace(err)
	}
	l.SetUnlinkOnClose(false)
	return l, errors.Trace(os.Chmod(path, 0o600))
}

// dial connects to the init of a cell.
func dial(dir string) (*net.UnixConn, error) {
	path, done, err := short(dir, socketName)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer done()
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	return conn, errors.Trace(err)
}
