package isolate

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/mounts"
)

// Attach has a directory of the host, with what is mounted in it, inside at to,
// until Detach or the end of the cell's processes. name tells it from others: one
// that is attached by that name at that place already is left alone, or replaced
// by the directory that has its path on the host by now. The error is
// AlreadyExists where something with another name has the place.
//
// Root makes a mount of it that is nowhere in the file system, and gives that to
// the init, which has no way to any other directory of the host. What isn't a
// directory is mounted over what is at to. Who isn't root may not: there the init keeps what Spec.Data says open, and out of sight.
func (c *Cell) Attach(name, from, to string) error {
	return c.AttachBind(name, Bind{From: from, To: to})
}

// AttachBind is Attach of what may be read-only.
func (c *Cell) AttachBind(name string, b Bind) error {
	a, from := attachment{Name: name, To: b.To, ReadOnly: b.ReadOnly}, b.From
	if c.record.User && !c.record.Mapped.Many() {
		real, err := filepath.EvalSymlinks(from)
		if err != nil {
			return errors.Annotatef(err, "cannot attach %s to a unit's machine", name)
		}
		var below bool
		if a.From, below = strings.CutPrefix(real, c.data+"/"); !below {
			return errors.NotValidf("%s, which is not in %s,", from, c.data)
		}
		return c.tell(a)
	}
	fd, err := c.takeFor(taking{Path: from, All: true})
	if err != nil {
		return errors.Annotatef(err, "cannot attach %s to a unit's machine: %s", name, from)
	}
	defer unix.Close(fd)
	return c.tell(a, fd)
}

// takeFor is what root takes of the host for the cell.
func (c *Cell) takeFor(t taking) (fd int, err error) {
	if !c.record.Mapped.Many() {
		return clone(t.Path)
	}
	users, err := c.users()
	if err != nil {
		return -1, errors.Trace(err)
	}
	defer users.Close()
	return t.take(int(users.Fd()))
}

// users is the cell's name space of users.
func (c *Cell) users() (*os.File, error) {
	pid := c.process()
	f, err := os.Open("/proc/" + strconv.Itoa(pid) + "/ns/user")
	if err == nil && c.process() != pid { // and it is another's
		f.Close()
		err = unix.ESRCH
	}
	return f, errors.Annotate(err, "the unit's cell has ended")
}

// Detach takes a directory away that Attach has brought; also from those who have
// it open, once they close it. Not to be there is no error.
func (c *Cell) Detach(name, to string) error {
	return c.tell(attachment{Name: name, To: to, Off: true})
}

// tell has the init attach or detach something.
func (c *Cell) tell(a attachment, fds ...int) error {
	conn, err := dial(c.dir)
	if err != nil {
		return errors.Annotate(err, "the unit's cell has ended")
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	if err := send(conn, call{Attach: &a}, fds); err != nil {
		return errors.Trace(err)
	}
	var said answer
	files, err := receive(conn, &said)
	closeAll(files)
	switch {
	case err != nil:
		return errors.Annotate(err, "the unit's cell has ended")
	case said.Taken:
		return errors.NewAlreadyExists(nil, said.Err)
	case said.Err != "":
		return errors.New(said.Err)
	}
	return nil
}

// attach does what a call says. Source is the directory, nil where it is to be
// found in the init's own.
func (i *cellInit) attach(a attachment, files []*os.File) answer {
	i.attaching.Lock()
	defer i.attaching.Unlock()
	has := i.attached[a.To]
	switch {
	case a.Off && has == a.Name:
		_ = unix.Unmount(a.To, unix.MNT_DETACH)
		_ = unix.Rmdir(a.To) // a directory that has nothing in it
		delete(i.attached, a.To)
		return answer{Started: true}
	case a.Off:
		return answer{Started: true}
	case has != "" && has != a.Name:
		return answer{Err: "cannot have " + a.Name + " at " + a.To + ": " + has + " is there", Taken: true}
	}
	if err := i.mount(a, files, has != ""); err != nil {
		return answer{Err: errors.Annotatef(err, "cannot have %s at %s", a.Name, a.To).Error()}
	}
	i.attached[a.To] = a.Name
	return answer{Started: true}
}

// mount has the directory at its place; again: it was mounted there before.
func (i *cellInit) mount(a attachment, files []*os.File, again bool) error {
	from := ""
	switch {
	case len(files) == 1:
		from = inProc(files[0])
	case i.data != nil:
		from = filepath.Join(inProc(i.data), a.From)
	default:
		return errors.New("there is nothing to take it from")
	}
	is, err := os.Stat(from)
	if err != nil {
		return errors.Trace(err)
	}
	if again {
		if was, err := os.Stat(a.To); err == nil && os.SameFile(was, is) {
			return nil
		}
		delete(i.attached, a.To)
		if err := unix.Unmount(a.To, unix.MNT_DETACH); err != nil && err != unix.EINVAL {
			return errors.Trace(err)
		}
	}
	if is.IsDir() {
		if err := os.MkdirAll(a.To, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	var fd int
	if len(files) == 1 {
		fd = int(files[0].Fd())
	} else {
		if fd, err = clone(from); err != nil {
			return errors.Trace(err)
		}
		defer unix.Close(fd)
	}
	if a.ReadOnly { // before anybody finds it
		if err := readOnly(fd); err != nil {
			return errors.Trace(err)
		}
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, a.To, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return errors.Trace(err)
	}
	// What the host mounts in it later, or takes away, is the host's.
	return errors.Trace(unix.Mount("", a.To, "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// inProc is a path to an open file.
func inProc(f *os.File) string { return "/proc/self/fd/" + strconv.Itoa(int(f.Fd())) }

// keepData opens the agent's directory for an init that takes from it what is
// attached, and may not be given it. What it is mounted at is covered by agents.
func keepData(s setUp, agents string) (*os.File, error) {
	if !s.User || s.hands != nil || s.Data == "" {
		return nil, nil
	}
	if err := s.bind(s.Data, agents); err != nil {
		return nil, errors.Trace(err)
	}
	fd, err := unix.Open(agents, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot open %s", agents)
	}
	return os.NewFile(uintptr(fd), agents), errors.Trace(s.bind(filepath.Join(s.Dir, jujuDir, "agents"), agents))
}

// dataPlaces are the paths at which the agent's directory, Spec.Data, is seen in
// the root that the cell is made of: at its own, and wherever else its file system
// is mounted.
func dataPlaces(s setUp) ([]string, error) {
	if s.Data == "" {
		return nil, nil
	}
	places := []string{s.Data} // where a shared directory has it, say
	if s.Root != "" {
		if rest, below := strings.CutPrefix(s.Data, s.Root+"/"); below {
			places = append(places, "/"+rest)
		}
		return places, nil
	}
	all, err := mounts.Own()
	if err != nil {
		return nil, errors.Trace(err)
	}
	var own mounts.Mount
	for _, m := range all { // of those at one place the last one is seen
		if isBelow(s.Data, m.At) && len(m.At) >= len(own.At) {
			own = m
		}
	}
	path := filepath.Join(own.Root, below(own.At, s.Data)) // in the file system
	for _, m := range all {
		if m.Device == own.Device && isBelow(path, m.Root) {
			places = append(places, filepath.Join(m.At, below(m.Root, path)))
		}
	}
	return places, nil
}

// below is a path as it is seen from a directory above it.
func below(dir, path string) string { return strings.TrimPrefix(path, strings.TrimSuffix(dir, "/")) }

// cover hides what the agent has at those places from the cell. Where it isn't
// seen there is nothing to hide.
func cover(places []string) error {
	done := map[string]bool{}
	for _, at := range places {
		if st, err := os.Lstat(at); err != nil || !st.IsDir() || done[at] {
			continue
		}
		done[at] = true
		if err := tmpfs(at, "mode=755,size=1m"); err != nil {
			return errors.Annotate(err, "cannot hide the agent's files")
		}
	}
	return nil
}
