package oci

import (
	"archive/tar"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// What a layer removes has a file beside it with this before its name; and a
// directory that hides the one below has a file named opaqueName.
const (
	whiteout   = ".wh."
	opaqueName = ".wh..wh..opq"
)

// whiteout writes what a layer removes. It goes for the layers below: what this one
// has by the name itself stays, in whatever order they come.
func (u *unpacker) whiteout(dir, base string) error {
	name := strings.TrimPrefix(base, whiteout)
	switch {
	case base == opaqueName:
		in, err := u.enter(dir, true)
		if err != nil {
			return errors.Trace(err)
		}
		return u.setOpaque(in.file)
	case strings.HasPrefix(name, whiteout): // aufs had more of them, for itself
		return nil
	case name == "" || name == "." || name == "..":
		return errors.NewNotValid(nil, "it removes nothing that there could be")
	}
	in, err := u.enter(dir, true)
	if err != nil {
		return errors.Trace(err)
	}
	st, err := in.root.Lstat(name)
	switch {
	case os.IsNotExist(err):
		return errors.Annotate(unix.Mknodat(in.fd(), name, unix.S_IFCHR, 0), "cannot write what overlayfs takes for removed")
	case err != nil:
		return errors.Trace(err)
	case st.IsDir():
		return u.hide(in, name)
	}
	return nil
}

// isWhiteout: no other devices are ever made.
func isWhiteout(st fs.FileInfo) bool { return st.Mode()&fs.ModeCharDevice != 0 }

// file writes an entry that isn't a directory; nothing has its name.
func (u *unpacker) file(in *directory, name, base string, h *tar.Header, content io.Reader) error {
	switch h.Typeflag {
	case tar.TypeReg, tar.TypeCont, tar.TypeGNUSparse:
		return u.regular(in, base, h, content)
	case tar.TypeLink:
		return u.link(name, h)
	case tar.TypeSymlink:
		if err := in.root.Symlink(h.Linkname, base); err != nil {
			return errors.Trace(err)
		}
	case tar.TypeFifo:
		if err := unix.Mknodat(in.fd(), base, unix.S_IFIFO|0o600, 0); err != nil {
			return errors.Trace(err)
		}
	default:
		return errors.NewNotValid(nil, "it is of a kind that a layer can't have: "+visibleText(string(h.Typeflag)))
	}
	if u.form != Single {
		if err := unix.Fchownat(in.fd(), base, h.Uid, h.Gid, unix.AT_SYMLINK_NOFOLLOW); err != nil {
			return noOwner(err, h)
		}
	}
	if h.Typeflag == tar.TypeFifo {
		if err := unix.Fchmodat(in.fd(), base, mode(h), 0); err != nil {
			return errors.Trace(err)
		}
	}
	times, err := timesOf(h)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(unix.UtimesNanoAt(in.fd(), base, times, unix.AT_SYMLINK_NOFOLLOW))
}

func (u *unpacker) regular(in *directory, base string, h *tar.Header, content io.Reader) error {
	f, err := in.root.OpenFile(base, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	// Not by io.Copy: a file would have a buffer of its own for each.
	for left := h.Size; left > 0; {
		n, readErr := content.Read(u.buf)
		if _, err := f.Write(u.buf[:n]); err != nil {
			return errors.Trace(err)
		}
		left -= int64(n)
		switch {
		case readErr == nil || left <= 0:
		case readErr == io.EOF || readErr == io.ErrUnexpectedEOF:
			return errors.NewNotValid(readErr, "the layer ends in it")
		default:
			return errors.Trace(readErr)
		}
	}
	if err := u.own(f, in.fd(), base, h); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Close())
}

// link makes a hard link to what the layer has already.
func (u *unpacker) link(name string, h *tar.Header) error {
	target, err := cleanName(h.Linkname)
	if err != nil {
		return errors.Trace(err)
	}
	top := u.way[0].root
	if u.skipped[target] { // a device's other name
		return u.skip(name)
	}
	st, err := top.Lstat(target)
	if target == "" || err != nil || st.IsDir() || isWhiteout(st) {
		return errors.NewNotValid(nil, "it is a hard link to "+visibleText(h.Linkname)+", which isn't a file of the layer")
	}
	return errors.Trace(top.Link(target, name))
}

// own gives an open file or directory its owner, attributes, mode and times, in an
// order in which none of them undoes another, and who isn't root may do each. It is
// the one of that name in the directory at, which has it for its times.
func (u *unpacker) own(f *os.File, at int, name string, h *tar.Header) error {
	fd := int(f.Fd())
	if u.form != Single {
		if err := unix.Fchown(fd, h.Uid, h.Gid); err != nil {
			return noOwner(err, h)
		}
	}
	if err := u.attributes(f, h); err != nil {
		return errors.Trace(err)
	}
	perm := mode(h)
	if u.form == Single && h.Typeflag == tar.TypeDir {
		perm |= 0o700 // or its owner couldn't remove it
	}
	if err := unix.Fchmod(fd, perm); err != nil {
		return errors.Trace(err)
	}
	times, err := timesOf(h)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(unix.UtimesNanoAt(at, name, times, unix.AT_SYMLINK_NOFOLLOW))
}

func noOwner(err error, h *tar.Header) error {
	if errors.Is(err, unix.EINVAL) {
		return errors.NewNotSupported(err, "its owner isn't one of the ids that this user has")
	}
	return errors.Annotatef(err, "cannot give it to %d:%d", h.Uid, h.Gid)
}

func mode(h *tar.Header) uint32 { return uint32(h.Mode) & 0o7777 }

// xattrPrefix is what the keys of attributes begin with in a tar file.
const xattrPrefix = "SCHILY.xattr."

// skip leaves a device out, and says so.
func (u *unpacker) skip(name string) error {
	if err := u.payName(name); err != nil {
		return errors.Trace(err)
	}
	u.skipped[name] = true
	if u.out.SkippedN++; len(u.out.Skipped) < 20 {
		u.out.Skipped = append(u.out.Skipped, name)
	}
	return nil
}

func hasXattrs(h *tar.Header) bool {
	for k := range h.PAXRecords {
		if strings.HasPrefix(k, xattrPrefix) {
			return true
		}
	}
	return false
}

// attributes sets those that a layer may have: capabilities, and the users' own.
// Others are for the host's kernel: by overlay's, a layer could show what isn't in
// it.
func (u *unpacker) attributes(f *os.File, h *tar.Header) error {
	if !hasXattrs(h) {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(h.PAXRecords)) {
		name, ok := strings.CutPrefix(k, xattrPrefix)
		if !ok || name != "security.capability" && (!strings.HasPrefix(name, "user.") || strings.HasPrefix(name, "user.overlay.")) {
			continue
		}
		err := unix.Fsetxattr(int(f.Fd()), name, []byte(h.PAXRecords[k]), 0)
		switch {
		case errors.Is(err, unix.ENOTSUP) && name != "security.capability":
		case errors.Is(err, unix.EPERM) && u.form == Single:
		case err != nil:
			return errors.Annotatef(err, "cannot set the attribute %s", visibleText(name))
		}
	}
	return nil
}

func timesOf(h *tar.Header) ([]unix.Timespec, error) {
	at := h.ModTime
	// What a file system can't have, and Go's arithmetic neither.
	if y := at.Year(); y < 1902 || y > 2400 {
		at = time.Unix(0, 0)
	}
	t, err := unix.TimeToTimespec(at)
	return []unix.Timespec{t, t}, errors.Trace(err)
}
