package tools

import (
	"net"

	"github.com/juju/errors"
)

// mayCall says who is served: the agent's own user, the one whom hooks run as, and
// root, who could have it all anyway.
func mayCall(uid, own, hooks int) bool { return uid == own || uid == hooks || uid == 0 }

// peerUID is the user of the process that made the connection, as the kernel
// says.
func peerUID(conn *net.UnixConn) (uid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, errors.Trace(err)
	}
	controlErr := raw.Control(func(fd uintptr) { uid, err = peerUIDOf(int(fd)) })
	if controlErr != nil {
		return 0, errors.Trace(controlErr)
	}
	return uid, errors.Trace(err)
}
