//go:build !linux

package memory

import "syscall"

func stampOf(st *syscall.Stat_t) stamp {
	return stamp{st.Ino, st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano()}
}
