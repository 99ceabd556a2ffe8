// Package model has the nouns of the field as plain values: names, life,
// settings, charm metadata, ports, status, and what one hook run changed.
//
// Everything here can be compared, copied, printed and read back; nothing here
// does input or output, reads a clock or starts a goroutine. It is the leaf
// that every other room may import, and it imports no other room.
//
// Rules come from the documents named at each type: seed 000 (lifecycles) and
// seed 004 (charms in action), which docs/spec/seeds.md names, and
// docs/spec/hook-tools.md.
package model
