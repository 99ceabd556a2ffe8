package isolate

import (
	"net"
	"os"
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
