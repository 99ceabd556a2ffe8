// Package peer tells who is at the other end of a Unix socket, by what the kernel says, and
// connects to one as somebody else, which takes root. Both are for sockets of programs
// that ask the kernel who calls them, as Pebble does. To a socket in a unit's machine no link
// is followed.
package peer

// Who is a process at the other end of a connection, and whom it runs as, by the numbers
// that this process knows them by.
type Who struct{ PID, UID, GID int }
