package script

import (
	"bytes"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// likeOwner gives a path the owner of another one, where this user may, and its
// extended attributes: an overlay notes there that a directory hides what is
// below it.
func likeOwner(from, path string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		if err := os.Lchown(path, int(st.Uid), int(st.Gid)); err != nil {
			return err
		}
	}
	names, err := attribute(func(b []byte) (int, error) { return unix.Llistxattr(from, b) })
	if err != nil || len(names) == 0 {
		return ignoreLack(err)
	}
	for name := range strings.SplitSeq(strings.Trim(string(names), "\x00"), "\x00") {
		if slices.ContainsFunc(notCopied, func(end string) bool { return strings.HasSuffix(name, end) }) {
			continue
		}
		value, err := attribute(func(b []byte) (int, error) { return unix.Lgetxattr(from, name, b) })
		if err == nil {
			err = unix.Lsetxattr(path, name, value, 0)
		}
		if err := ignoreLack(err); err != nil {
			return errors.Annotatef(err, "cannot copy %s of %s", name, from)
		}
	}
	return nil
}

// notCopied are attributes that are about the file itself and not what is in
// it: those by which an overlay finds what a file was made from.
var notCopied = []string{".overlay.origin", ".overlay.uuid", ".overlay.nlink", ".overlay.upper"}

// attribute reads what read fills a buffer with.
func attribute(read func([]byte) (int, error)) ([]byte, error) {
	b := make([]byte, 64<<10) // the kernel's limit
	n, err := read(b)
	return bytes.Clone(b[:max(n, 0)]), err
}

// ignoreLack is no error where the file system has no such attributes, or this
// user may not know of them.
func ignoreLack(err error) error {
	if slices.ContainsFunc([]error{unix.ENOTSUP, unix.EPERM, unix.ENODATA}, func(no error) bool { return errors.Is(err, no) }) {
		return nil
	}
	return err
}

// copyWhiteout copies the mark of an overlay that a file is gone; no other
// device.
func copyWhiteout(from, to string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); !ok || st.Rdev != 0 {
		return nil
	}
	if err := unix.Mknod(to, unix.S_IFCHR, 0); err != nil {
		return errors.Annotatef(err, "cannot copy %s", from)
	}
	return likeOwner(from, to, info)
}
