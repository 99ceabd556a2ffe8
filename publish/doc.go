// Package publish lets connections come to the units of an application by one
// address: a port of the host, or the application's own address. It is a proxy in
// this process: it takes no rights, no rules of the kernel's, and no daemon, and the
// units see it in place of who calls.
//
// A Forward hands on the connections that one listener takes, to its backends in
// turn. A backend that refuses is passed over. Each direction ends by itself, as
// programs that close their half of a connection and go on reading need it. A Set
// has the forwards that somebody wants.
package publish
