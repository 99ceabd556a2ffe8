package tools

import (
	"net"

	"github.com/juju/errors"
)

// callers are who is served besides the agent's own user and root, who could have it all
// anyway: whom hooks run as, and the users of the unit's machine, whose ids follow each
// other.
type callers struct{ hooks, first, size int }

func (c callers) may(uid, own int) bool {
	return uid == own || uid == c.hooks || uid == 0 || uid >= c.first && uid < c.first+c.size
}

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
