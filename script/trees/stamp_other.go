//go:build !linux

package trees

import (
	"io/fs"
	"syscall"
)

// tick is never asked for: nothing is exact.
func tick() int64 { return 0 }

func exact(string) bool { return false }

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{uint64(st.Dev), st.Ino, uint64(st.Nlink), st.Size, st.Mtimespec.Nano(), st.Ctimespec.Nano(), uint32(st.Mode), st.Uid, st.Gid}
}

// owners does nothing: there are no isolated units here.
func owners(fs.FileInfo) (uid, gid int) { return 0, 0 }

func whiteout(fs.FileInfo) bool { return false }

func makeWhiteout(string) error { return nil }

func (e *entry) own(string) error { return nil }

func attributes(string) ([]attribute, error) { return nil, nil }
