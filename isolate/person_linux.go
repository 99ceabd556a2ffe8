package isolate

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// RunAs has the programs that are started from now on, by Command, run as a person;
// what runs already goes on. Where there is one user inside the error is
// ErrNoRights, unless the person is root, who has no further groups then.
func (c *Cell) RunAs(p Person) error {
	if c.record.User {
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

// credential is the person as who starts a program needs it.
func (p Person) credential() *syscall.Credential {
	c := &syscall.Credential{Uid: uint32(p.UID), Gid: uint32(p.GID)}
	for _, g := range p.Groups {
		c.Groups = append(c.Groups, uint32(g))
	}
	return c
}

// OpenAsPerson is OpenFile with the rights of whom the cell's programs run as, who
// owns what it makes.
func (c *Cell) OpenAsPerson(path string, flag int, perm os.FileMode) (*os.File, error) {
	p := c.record.As
	if p.UID == 0 || os.Geteuid() != 0 {
		return c.OpenFile(path, flag, perm)
	}
	type opened struct {
		f   *os.File
		err error
	}
	done := make(chan opened)
	go func() {
		runtime.LockOSThread() // the rights are the thread's, which ends with this goroutine
		f, err := c.openWith(path, flag, perm, func() error {
			_, err := unix.SetfsgidRetGid(p.GID)
			if err == nil {
				_, err = unix.SetfsuidRetUid(p.UID)
			}
			return err
		})
		done <- opened{f, err}
	}()
	o := <-done
	return o.f, o.err
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
