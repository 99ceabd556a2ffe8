package isolate

import (
	"os"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/threads"
)

// RunAs has the programs that are started from now on, by Command, run as a person;
// what runs already goes on. Where there is one user inside the error is
// ErrNoRights, unless the person is root, who has no further groups then.
func (c *Cell) RunAs(p Person) error {
	if c.record.single() {
		if p.UID != 0 || p.GID != 0 {
			return errors.WithType(errors.Errorf("nothing can run as %d:%d here: without root there is only one user inside, 0:0", p.UID, p.GID), ErrNoRights)
		}
		p.Groups = nil
	}
	c.record.As = p
	return errors.Trace(c.save())
}

// Person is whom the cell's programs run as.
func (c *Cell) Person() Person { return c.record.As }

// Home is where that person is at home.
func (c *Cell) Home() string {
	if c.record.As.Home == "" {
		return "/root"
	}
	return c.record.As.Home
}

// OpenAsPerson is OpenFile with the rights of whom the cell's programs run as, who
// owns what it makes.
func (c *Cell) OpenAsPerson(path string, flag int, perm os.FileMode) (*os.File, error) {
	p := c.record.As
	if c.record.IDs.Many() {
		return c.demandFile(opening{Path: path, Flag: flag, Perm: perm, As: p})
	}
	if (p.UID == 0 || os.Geteuid() != 0) && !c.record.Mapped.Many() {
		return c.OpenFile(path, flag, perm)
	}
	root, err := c.root()
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer unix.Close(root)
	o := opening{Path: path, Flag: flag, Perm: perm, As: p}
	if c.record.Mapped.Many() {
		o = c.mapped(o)
	}
	return o.in(root)
}

// OfProcess are the host's numbers of a user and a group of the cell as processes have
// them; those of its files, as the host sees them, are OnHost's.
func (c *Cell) OfProcess(uid, gid int) (int, int) {
	if c.record.Mapped.Many() {
		return c.record.Mapped.OnHost(uid, gid)
	}
	return c.OnHost(uid, gid)
}

// OnHost are the host's numbers of a user and a group of the cell.
func (c *Cell) OnHost(uid, gid int) (int, int) {
	if c.record.single() {
		return os.Geteuid(), os.Getegid() // all that there is inside
	}
	return c.record.IDs.OnHost(uid, gid)
}

// Numbers is the range of ids of the host that the cell's processes have, and nobody
// else; none where they aren't its own.
func (c *Cell) Numbers() (first, size int) {
	if !c.record.Mapped.Many() {
		return 0, 0
	}
	return c.record.Mapped.UIDs[0].Host, numbersEach
}

// IDs are those that the cell has.
func (c *Cell) IDs() IDs { return c.record.IDs }

// Chown gives an open file of the cell to one of its users, by the cell's own numbers.
func (c *Cell) Chown(f *os.File, uid, gid int) error {
	if !c.record.IDs.Many() {
		uid, gid = c.record.Mapped.OnHost(uid, gid)
		return f.Chown(uid, gid)
	}
	_, err := c.cells.demand(demand{Chown: &owner{UID: uid, GID: gid}}, int(f.Fd()))
	return err
}

// Give gives a file of the host to one of the cell's users, by the cell's own
// numbers.
func (c *Cell) Give(path string, uid, gid int) error {
	uid, gid = c.OnHost(uid, gid)
	return c.cells.disk().Lchown(path, uid, gid)
}

// in opens what is meant below a root, or makes it, with the rights of a person.
func (o opening) in(root int) (*os.File, error) {
	if o.As.UID == 0 {
		return o.perform(root)
	}
	var f *os.File
	err := threads.Lost(func() error { // whose rights these are
		err := unix.Setgroups(o.As.Groups)
		if err == nil {
			_, err = unix.SetfsgidRetGid(o.As.GID)
		}
		if err == nil {
			_, err = unix.SetfsuidRetUid(o.As.UID)
		}
		if err == nil && o.Root {
			err = keepRights()
		}
		if err == nil {
			f, err = o.perform(root)
		}
		return err
	})
	return f, err
}

// perform opens or makes it, with the rights of this thread.
func (o opening) perform(root int) (*os.File, error) {
	if o.Mkdir {
		return nil, o.mkdir(root)
	}
	return o.open(root)
}

// actAs makes this thread another user to files, with root's rights. 0 is the host's root,
// which it is.
func actAs(uid, gid int) error {
	if uid == 0 && gid == 0 {
		return nil
	}
	_, err := unix.SetfsgidRetGid(gid)
	if err == nil {
		_, err = unix.SetfsuidRetUid(uid)
	}
	if err != nil {
		return err
	}
	return keepRights()
}

// keepRights gives a thread that has become another user to files root's rights to them
// again.
func keepRights() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var data [2]unix.CapUserData
	if err := unix.Capget(&header, &data[0]); err != nil {
		return err
	}
	for i := range data {
		data[i].Effective = data[i].Permitted
	}
	return unix.Capset(&header, &data[0])
}

// parsePerson undoes String, but for Home.
func parsePerson(s string) (p Person, err error) {
	if s == "" {
		return p, nil
	}
	parts := strings.Split(s, ":")
	if len(parts) != 3 {
		return p, errors.NotValidf("user %q", s)
	}
	number := func(s string) (n int) {
		if err == nil {
			n, err = strconv.Atoi(s)
		}
		return n
	}
	p.UID, p.GID = number(parts[0]), number(parts[1])
	if parts[2] != "" {
		for g := range strings.SplitSeq(parts[2], ",") {
			p.Groups = append(p.Groups, number(g))
		}
	}
	return p, errors.Trace(err)
}
