// Package lab is the inside of a test world's agent: the clock that only moves
// when it is told to, the faults that it is told to have, and the socket by
// which the script tells it.
//
//	script ──lines of JSON──▶ Server ──▶ Clock, Faults ──▶ machine.Config{Clock, At}, store
//
// An agent under test is a process of its own, like any other, so that it can
// be killed like any other. Nothing here is in a hook's way in life: without a
// lab machine.Config.At is nil.
package lab
