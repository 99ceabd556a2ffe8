package journald

import (
	"os"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// sendFile sends a record that is too large for a datagram: the descriptor of a file in
// memory, which nobody can change any more.
// Source: docs/spec/service-manager.md §6.
func (s *Socket) sendFile(b []byte) error {
	fd, err := unix.MemfdCreate("unitd-log", unix.MFD_CLOEXEC|unix.MFD_ALLOW_SEALING)
	if err != nil {
		return errors.Trace(err)
	}
	f := os.NewFile(uintptr(fd), "unitd-log")
	defer f.Close()
	if _, err := f.Write(b); err != nil {
		return errors.Trace(err)
	}
	seals := unix.F_SEAL_SHRINK | unix.F_SEAL_GROW | unix.F_SEAL_WRITE | unix.F_SEAL_SEAL
	if _, err := unix.FcntlInt(f.Fd(), unix.F_ADD_SEALS, seals); err != nil {
		return errors.Trace(err)
	}
	raw, err := s.conn.SyscallConn() // a connected UnixConn sends no descriptors of itself
	if err != nil {
		return errors.Trace(err)
	}
	var sent error
	err = raw.Write(func(to uintptr) bool {
		sent = unix.Sendmsg(int(to), nil, unix.UnixRights(fd), nil, unix.MSG_NOSIGNAL)
		return !errors.Is(sent, unix.EAGAIN)
	})
	if err == nil {
		err = sent
	}
	return errors.Trace(err)
}
