//go:build !linux

package agent

import "golang.org/x/sys/unix"

// duplicate makes a descriptor another one's.
func duplicate(from, to int) error { return unix.Dup2(from, to) }
