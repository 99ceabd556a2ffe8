package isolate

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/mounts"
	"github.com/unitd/unitd/threads"
)

// Attach has a directory of the host, with what is mounted in it, inside at to,
// until Detach or the end of the cell's processes. name tells it from others: one
// that is attached by that name at that place already is left alone, or replaced
// by the directory that has its path on the host by now. The error is
// AlreadyExists where something with another name has the place.
//
// It is made as a mount that is nowhere in the file system, and put into the cell's
// mounts from outside: nothing that runs in the cell has a way to any other directory
// of the host. What isn't there at to is made.
func (c *Cell) Attach(name, from, to string) error {
	return c.AttachBind(name, Bind{From: from, To: to})
}

// AttachBind is Attach of what may be read-only, or others' too. Below the agent's own
// directory, the one that has Cells.Dir, no link is followed.
func (c *Cell) AttachBind(name string, b Bind) error {
	from, err := c.cells.real(b.From)
	if err != nil {
		return errors.Annotatef(err, "cannot attach %s to a unit's machine: %s", name, b.From)
	}
	return c.attachments(func(at map[string]string, save func() error) error {
		has := at[b.To]
		if has != "" && has != name {
			return errors.NewAlreadyExists(nil, "cannot have "+name+" at "+b.To+": "+has+" is there")
		}
		a := attachment{From: from, To: b.To, ReadOnly: b.ReadOnly, Theirs: b.Theirs, Again: has != ""}
		// An agent that is killed after it has mounted it, and hasn't noted it yet, would
		// leave what the next one can't mount over: a socket that is removed by then.
		at[b.To] = name
		if err := save(); err != nil {
			return errors.Trace(err)
		}
		if err := c.perform(a); err != nil {
			if has == "" {
				delete(at, b.To)
				_ = save() // else it is found to be no mount
			}
			return errors.Annotatef(err, "cannot have %s at %s", name, b.To)
		}
		return nil
	})
}

// Detach takes a directory away that Attach has brought; also from those who have
// it open, once they close it. Not to be there is no error.
func (c *Cell) Detach(name, to string) error {
	return c.attachments(func(at map[string]string, save func() error) error {
		if at[to] != name {
			return nil
		}
		if err := c.perform(attachment{To: to, Off: true}); err != nil {
			return errors.Trace(err)
		}
		delete(at, to)
		return save()
	})
}

// attachedName is the record of what was attached, in the cell's directory.
const attachedName = "attached.json"

// attachedRecord has the names of what was attached, by place, while that process has run.
type attachedRecord struct {
	process
	At map[string]string `json:"at"`
}

// attachments lets change what is attached, which one at a time does, and records it by
// save.
func (c *Cell) attachments(change func(at map[string]string, save func() error) error) error {
	ended := errors.New("the unit's cell has ended")
	dir, err := os.Open(c.dir)
	if err != nil {
		return errors.WithType(ended, errors.NotFound)
	}
	defer dir.Close()
	for err = unix.EINTR; err == unix.EINTR; {
		err = unix.Flock(int(dir.Fd()), unix.LOCK_EX)
	}
	if err != nil {
		return errors.Trace(err)
	}
	if c.ending() {
		return ended
	}
	path := filepath.Join(c.dir, attachedName)
	var r attachedRecord
	if err := readOfBoot(path, &r); err != nil && !os.IsNotExist(errors.Cause(err)) {
		return errors.Trace(err)
	}
	if r.process != c.record.process {
		r = attachedRecord{process: c.record.process}
	}
	if r.At == nil {
		r.At = map[string]string{}
	}
	return errors.Trace(change(r.At, func() error { return errors.Trace(writeOfBoot(path, r)) }))
}

// perform has an attachment there.
func (c *Cell) perform(a attachment) error {
	mounts, err := os.Open("/proc/" + strconv.Itoa(c.record.Pid) + "/ns/mnt")
	if err != nil {
		return errors.Annotate(err, "the unit's cell has ended")
	}
	defer mounts.Close()
	if os.Geteuid() != 0 {
		return errors.Trace(c.performAsUser(a, mounts))
	}
	fd := -1
	if !a.Off {
		if fd, err = c.takeFor(taking{Path: a.From, All: true, Theirs: a.Theirs}); err != nil {
			return errors.Trace(err)
		}
		defer unix.Close(fd)
	}
	uid, gid := c.record.Mapped.OnHost(0, 0)
	return a.in(mounts, fd, func() error { return actAs(uid, gid) })
}

// takeFor is what root takes of the host for the cell.
func (c *Cell) takeFor(t taking) (fd int, err error) {
	if !c.record.Mapped.Many() {
		return t.clone()
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

// attachment is a directory of the host that is to be inside, or no longer.
type attachment struct {
	// From is its place on the host, To that inside.
	From string `json:"from,omitempty"`
	To   string `json:"to"`
	// ReadOnly: nothing can be written to it.
	ReadOnly bool `json:"read-only,omitempty"`
	// Theirs is that of Bind. Root alone has it so: others' files are never their own.
	Theirs bool `json:"-"`
	// Again: something was attached there by the same name. Off: it is to be taken away.
	Again bool `json:"again,omitempty"`
	Off   bool `json:"off,omitempty"`
}

// in has it in those mounts; fd is the mount that is attached. become makes the thread that
// does it whom the cell's files belong to.
func (a attachment) in(mounts *os.File, fd int, become func() error) error {
	return errors.Trace(threads.Lost(func() error { // whose mounts these are
		if err := unix.Unshare(unix.CLONE_FS); err != nil {
			return errors.Trace(err)
		}
		if err := unix.Setns(int(mounts.Fd()), unix.CLONE_NEWNS); err != nil {
			return errors.Trace(err)
		}
		unix.Umask(0o022)
		if err := become(); err != nil {
			return errors.Trace(err)
		}
		return errors.Trace(a.put(fd))
	}))
}

// put has it there, as this thread sees the files.
func (a attachment) put(fd int) error {
	if a.Off {
		a.takeOff()
		return nil
	}
	var is unix.Stat_t
	if err := unix.Fstat(fd, &is); err != nil {
		return errors.Trace(err)
	}
	if a.Again {
		var was unix.Stat_t
		if unix.Stat(a.To, &was) == nil && was.Dev == is.Dev && was.Ino == is.Ino {
			return nil
		}
		if err := unix.Unmount(a.To, unix.MNT_DETACH); err != nil && err != unix.EINVAL && err != unix.ENOENT {
			return errors.Trace(err)
		}
	}
	to, err := place(a.To, is.Mode&unix.S_IFMT != unix.S_IFDIR, new(int))
	if err != nil {
		return errors.Trace(err)
	}
	if a.ReadOnly { // before anybody finds it
		if err := readOnly(fd); err != nil {
			return errors.Trace(err)
		}
	}
	if err := unix.MoveMount(fd, "", unix.AT_FDCWD, to, unix.MOVE_MOUNT_F_EMPTY_PATH); err != nil {
		return errors.Trace(err)
	}
	// What the host mounts in it later, or takes away, is the host's.
	return errors.Trace(unix.Mount("", to, "", unix.MS_REC|unix.MS_PRIVATE, ""))
}

// takeOff takes it away, with the place that was made for it, and with its unit's
// directory once nothing is left in that.
func (a attachment) takeOff() {
	_ = unix.Unmount(a.To, unix.MNT_DETACH)
	var st unix.Stat_t
	if unix.Lstat(a.To, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Size == 0 {
		_ = unix.Unlink(a.To)
	} else {
		_ = unix.Rmdir(a.To) // a directory that has nothing in it
	}
	if dir := filepath.Dir(a.To); isBelow(dir, Juju+"/agents/") {
		_ = unix.Rmdir(dir)
	}
}

// performAsUser has it there where this process isn't root: by one that is root of the
// cell's name space of users, and has the host's mounts.
func (c *Cell) performAsUser(a attachment, mounts *os.File) error {
	spaces, err := spacesOf(c.record.Pid)
	if err != nil {
		return errors.Annotate(err, "the unit's cell has ended")
	}
	defer closeSpaces(spaces)
	ask, err := json.Marshal(a)
	if err != nil {
		return errors.Trace(err)
	}
	in, say, err := os.Pipe()
	if err != nil {
		return errors.Trace(err)
	}
	defer in.Close()
	defer say.Close()
	hear, out, err := os.Pipe()
	if err != nil {
		return errors.Trace(err)
	}
	defer hear.Close()
	defer out.Close()
	program := c.cells.program()
	e := entry{
		path: program, args: []string{program, AttachCommand}, env: []string{"PATH=" + Path}, dir: "/", files: []*os.File{in, out, out, mounts},
		alone: c.record.single(), more: unix.CLONE_NEWNS,
	}
	for _, s := range spaces {
		if s.kind == unix.CLONE_NEWUSER {
			e.spaces = append(e.spaces, s)
		}
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	pid, err := e.start()
	if err != nil {
		return errors.Trace(err)
	}
	out.Close()
	_, _ = say.Write(ask)
	say.Close()
	said, _ := io.ReadAll(hear)
	if status := reap(pid); status.ExitStatus() == 0 {
		return nil
	}
	var why done
	if json.Unmarshal(said, &why) == nil && why.Errno != 0 {
		return &os.PathError{Op: cmp.Or(why.Op, "attach"), Path: why.Path, Err: why.Errno}
	}
	return errors.New(strings.TrimSpace(cmp.Or(why.Err, string(said), "the process that attaches it was killed")))
}

// AttachCommand is the first argument by which this program, as root of a cell's name space
// of users, attaches something to the cell; see Main.
const AttachCommand = "--cell-attach"

// attachMain is that program. Its answer is nothing, or why it couldn't.
func attachMain() int {
	var a attachment
	err := json.NewDecoder(os.Stdin).Decode(&a)
	fd := -1
	if err == nil && !a.Off {
		fd, err = taking{Path: a.From, All: true}.clone()
	}
	if err == nil {
		err = a.in(os.NewFile(firstFile, "mounts"), fd, func() error { return nil })
	}
	if err == nil {
		return 0
	}
	_ = json.NewEncoder(os.Stdout).Encode(answerOf(err))
	return 1
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
