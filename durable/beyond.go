package durable

import (
	"io/fs"
	"os"

	"github.com/juju/errors"
)

// Call is what a Disk asks of the operating system, or of Disk.Beyond, as a value
// that another process can be told.
type Call struct {
	Do   Verb   `json:"do"`
	Path string `json:"path"`
	// To is the other path of what has two.
	To string `json:"to,omitempty"`
	// All: with what is below it, or with those above it that aren't there.
	All  bool        `json:"all,omitempty"`
	Flag int         `json:"flag,omitempty"`
	Mode fs.FileMode `json:"mode,omitempty"`
	// UID and GID are new owners, by the numbers of who calls; -1 leaves one as it is.
	UID int `json:"uid,omitempty"`
	GID int `json:"gid,omitempty"`
}

// What is one verb for who is told of steps, and several calls.
const (
	symlink Verb = "symlink"
	chmod   Verb = "chmod"
	share   Verb = "share"
)

// Perform does what the call says with the rights of this process. The file is nil but
// for Create, which opens one. The error is the operating system's, or NotValid for a
// call that nothing is known of.
func (c Call) Perform() (*os.File, error) {
	switch c.Do {
	case Create:
		return os.OpenFile(c.Path, c.Flag, c.Mode)
	case Mkdir:
		if c.All {
			return nil, os.MkdirAll(c.Path, c.Mode)
		}
		return nil, os.Mkdir(c.Path, c.Mode)
	case Rename:
		return nil, os.Rename(c.Path, c.To)
	case Exchange:
		done, err := exchange(c.Path, c.To)
		if err == nil && !done {
			err = errors.NotSupportedf("to exchange %s and %s", c.Path, c.To)
		}
		return nil, err
	case Remove:
		if c.All {
			return nil, os.RemoveAll(c.Path)
		}
		return nil, os.Remove(c.Path)
	case Link:
		return nil, os.Link(c.Path, c.To)
	case symlink:
		return nil, os.Symlink(c.Path, c.To)
	case chmod:
		return nil, os.Chmod(c.Path, c.Mode)
	case share:
		return nil, shareTree(c.Path, c.GID)
	case Own:
		return nil, os.Lchown(c.Path, c.UID, c.GID)
	}
	return nil, errors.NotValidf("what to do with %s, %q,", c.Path, c.Do)
}

// call performs a call that opens no file, or has it performed by who may.
func (d Disk) call(c Call) error {
	// The kernel takes the bit of a group off without a word that one isn't in.
	if d.Beyond != nil && (c.Do == share || c.Do == chmod && c.Mode&fs.ModeSetgid != 0) {
		if _, err := d.Beyond(c); !errors.Is(err, fs.ErrPermission) {
			return err
		}
	}
	_, err := c.Perform()
	if d.Beyond != nil && errors.Is(err, fs.ErrPermission) {
		_, err = d.Beyond(c)
	}
	return err
}
