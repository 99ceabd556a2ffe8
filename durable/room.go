package durable

import (
	"fmt"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// Room is an errors.QuotaLimitExceeded where the disk that a path is on has less than so
// many bytes free for users. A file system that doesn't say counts as having them.
func Room(path string, bytes int64) error {
	var st unix.Statfs_t
	if err := unix.Statfs(path, &st); err != nil {
		return errors.Annotatef(err, "cannot tell how much room there is in %s", path)
	}
	free := int64(st.Bavail) * int64(st.Bsize) //nolint:unconvert // their types are the system's
	if st.Blocks == 0 || free >= bytes {
		return nil
	}
	// What is free changes all the time; the text doesn't, so that it is told once.
	return errors.NewQuotaLimitExceeded(nil, fmt.Sprintf("the disk of %s is full: less than %.1f MiB free", path, float64(bytes)/(1<<20)))
}
