package client

import (
	"io"
	"syscall"
)

// dial connects to a unix socket; a leading "@" is Linux's abstract name.
func dial(address string) (int, error) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return -1, err
	}
	for {
		err = syscall.Connect(fd, &syscall.SockaddrUnix{Name: address})
		// EISCONN: an interrupted connect went on without us.
		if err == nil || err == syscall.EISCONN {
			return fd, nil
		}
		if err != syscall.EINTR {
			closeFD(fd)
			return -1, err
		}
	}
}

func closeFD(fd int) { _ = syscall.Close(fd) }

// reader reads from a file descriptor.
type reader int

// Read is io.Reader's.
func (r reader) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	for {
		n, err := syscall.Read(int(r), b)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN && blocking(int(r)):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

// readAll reads to the end, or until there is more than enough.
func readAll(fd, enough int) ([]byte, error) {
	b := make([]byte, 0, 16<<10)
	for len(b) < enough {
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := reader(fd).Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	return b, nil
}

func writeAll(fd int, b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN && blocking(fd):
		case err != nil:
			return err
		default:
			b = b[n:]
		}
	}
	return nil
}

// blocking makes a descriptor wait that somebody has made non-blocking, as
// programs do with a terminal or pipe that they share with us.
func blocking(fd int) bool { return syscall.SetNonblock(fd, false) == nil }
