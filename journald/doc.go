// Package journald writes records of log/slog to systemd's journal, with their attributes as
// fields, by the journal's native protocol.
//
//	slog.Logger ──▶ Handler ──▶ Socket ──▶ /run/systemd/journal/socket
//	                   └──▶ Else, where the journal doesn't take it
//
// The protocol is a datagram of fields: "NAME=value" and a newline, or, for a value that has
// newlines itself, NAME, a newline, the value's length in 64 bits, the least significant byte
// first, the value, and a newline. A record that is too large for a datagram is in a memory
// file that is sealed, whose descriptor is sent. Source: docs/spec/service-manager.md §6.
//
// github.com/coreos/go-systemd has a sender, too. It knows one path alone, which no test can
// listen at, and puts large records into files of /dev/shm.
package journald
