//go:build !linux

package sessions

import "syscall"

// tie does nothing: it is Linux that can.
func tie(*syscall.SysProcAttr) {}
