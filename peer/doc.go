// Package peer tells who is at the other end of a Unix socket, by what the kernel says, and
// connects to one as somebody else, which takes root. Both are for sockets of programs
// that ask the kernel who calls them, as Pebble does.
package peer

import "github.com/juju/errors"

// Who is a process at the other end of a connection, and whom it runs as, by the numbers
// that this process knows them by.
type Who struct{ PID, UID, GID int }

// errNoLinux is the error of all elsewhere.
var errNoLinux = errors.NotSupportedf("asking who is at the other end of a socket, on a system that isn't Linux,")
