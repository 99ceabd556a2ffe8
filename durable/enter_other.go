//go:build !linux

package durable

import (
	"io/fs"
	"path/filepath"
)

// Enter is the path itself: units share the host here.
func (d Disk) Enter(base string, perm fs.FileMode, names ...string) (path string, leave func(), err error) {
	path = filepath.Join(append([]string{base}, names...)...)
	if perm != 0 {
		err = d.MkdirAll(path, perm)
	}
	return path, func() {}, err
}
