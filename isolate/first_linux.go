package isolate

import (
	"context"
	"os"
	"path/filepath"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"

	"github.com/unitd/unitd/durable"
)

// The steps of a workload container that are none of a file. Source:
// docs/isolation.md, "Workload containers".
const (
	stepBegin   durable.Verb = "begin"    // the process that makes the root
	stepGoAhead durable.Verb = "go-ahead" // which becomes the first program
	stepEnd     durable.Verb = "end"      // what runs in it
)

// lockName is a file that is locked by who makes a container, the agent and the
// process that is to be its first program: not before both have let it go can
// another one be begun.
const lockName = "lock"

// openFirst has the workload container run.
func (c *Cell) openFirst(ctx context.Context, s Spec) error {
	if err := s.check(); err != nil {
		return errors.Annotatef(err, "cannot start %s", s.Name)
	}
	if err := c.settled(); err != nil {
		return errors.Trace(err)
	}
	if c.record.First && c.record.Layout == layout && c.alive() && c.Joined(s.With) {
		return nil
	}
	if err := c.stop(); err != nil {
		return errors.Trace(err)
	}
	if err := c.startFirst(ctx, s); err != nil {
		_ = c.stop()
		return errors.Annotatef(err, "cannot start %s", s.Name)
	}
	return nil
}

// startFirst makes the container. What an agent that is killed in it leaves is
// told by the record, or ends by itself.
func (c *Cell) startFirst(ctx context.Context, s Spec) error {
	s, err := s.resolved(c.cells.real)
	if err != nil {
		return errors.Trace(err)
	}
	disk := c.cells.disk()
	if err := disk.MkdirAll(c.dir, 0o700); err != nil {
		return errors.Trace(err)
	}
	lock, err := c.lock()
	if err != nil {
		return errors.Trace(err)
	}
	defer lock.Close()
	r := record{ID: s.ID, Layout: layout, First: true, Furnished: c.record.Furnished, Boots: c.record.Boots, Group: c.record.Group}
	if !c.record.Paused {
		r.Boots++
	}
	if s.With != nil {
		if !s.With.record.runs() {
			return errors.Errorf("the machine of the unit, %s, has ended", s.With.key)
		}
		r.With = &s.With.record.process
	}
	if err := c.endGroup(); err != nil { // of the former one
		return errors.Trace(err)
	}
	var refused error // of the first way, which says more of what is wrong
	for _, w := range c.firstWays(s.With) {
		c.record = r
		err := c.startFirstBy(ctx, w, s, lock)
		if err == nil {
			return nil
		}
		if refused == nil {
			refused = err
		}
		if !errors.Is(err, ErrNoRights) {
			break
		}
		_ = c.stop()
	}
	return errors.Trace(refused)
}

// lock waits until nobody makes the container. Closing the file lets it go.
func (c *Cell) lock() (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(c.dir, lockName), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for {
		if err = unix.Flock(int(f.Fd()), unix.LOCK_EX); err != unix.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, errors.Annotate(err, "cannot lock a workload container")
	}
	return f, nil
}

// settled waits until the process of the record is the first program, or has
// ended, as it does where an agent was killed before the go-ahead.
func (c *Cell) settled() error {
	if !c.record.First || c.process() < 0 {
		return nil
	}
	lock, err := c.lock()
	if err != nil {
		return errors.Trace(err)
	}
	return lock.Close()
}

// startFirstAs makes the container, in a user name space or not.
func (c *Cell) startFirstAs(ctx context.Context, s Spec, lock *os.File) error {
	set := setUp{Spec: s, User: c.record.User, IDs: c.record.IDs, Mapped: c.record.Mapped, Fresh: !c.record.Furnished}
	if f := s.First; set.single() && (f.UID != 0 || f.GID != 0) {
		return errors.WithType(errors.Errorf("the program is to run as %d:%d, but without root there is one user, 0:0, inside", f.UID, f.GID), ErrNoRights)
	}
	if set.User && !set.Mapped.Many() && s.With != nil && !s.With.record.User && s.With.record.Net.Address != "" {
		return errors.WithType(errors.New("only root can give it the network of the unit's machine"), ErrNoRights)
	}
	c.record.Lost = c.lostIDs()
	group := c.group(s.Limits)
	if err := c.save(); err != nil {
		return errors.Trace(err)
	}
	if err := c.fresh(); err != nil {
		return errors.Trace(err)
	}
	var err error
	if set.Dir, err = filepath.EvalSymlinks(c.dir); err != nil {
		return errors.Trace(err)
	}
	c.makeGroup(group, s.Limits)
	files, err := c.firstFiles(&set, lock)
	if err != nil {
		return errors.Trace(err)
	}
	defer closeAll(files[1:]) // the first is the lock
	return errors.Trace(c.runFirst(ctx, set, files))
}

// fresh has the layers of changes empty.
func (c *Cell) fresh() error {
	disk := c.cells.disk()
	layers := filepath.Join(c.dir, layersDir)
	if err := removeAll(disk, layers); err != nil {
		return errors.Annotate(err, "cannot remove what a workload container has changed")
	}
	for _, d := range []string{filepath.Join(c.dir, rootDir), layers, filepath.Join(layers, tmpDir)} {
		if err := disk.MkdirAll(d, 0o755); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Trace(disk.Chmod(filepath.Join(layers, tmpDir), 0o777|os.ModeSticky))
}

// firstFiles opens what the process is given, in the order of lockFile and what
// follows it.
func (c *Cell) firstFiles(set *setUp, lock *os.File) (files []*os.File, err error) {
	files = []*os.File{lock}
	defer func() {
		if err != nil {
			closeAll(files[1:])
		}
	}()
	log, err := c.openLog(set.First)
	if err != nil {
		return files, errors.Trace(err)
	}
	files = append(files, log)
	if set.With == nil || set.User { // a user name space is joined before
		return files, nil
	}
	with := set.With.record
	for _, name := range []string{"net", "uts"} {
		f, err := os.Open("/proc/" + strconv.Itoa(with.Pid) + "/ns/" + name)
		if err != nil {
			return files, errors.Annotate(err, "cannot find the network of the unit's machine")
		}
		files = append(files, f)
	}
	if !with.runs() { // and they are another's
		return files, errors.New("the machine of the unit has ended")
	}
	set.Join = true
	return files, nil
}

// openLog opens the file for what the program prints.
func (c *Cell) openLog(first *First) (*os.File, error) {
	if first.Log == "" {
		return os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	}
	open := durable.Call{Do: durable.Create, Path: first.Log, Flag: os.O_CREATE | os.O_APPEND | os.O_WRONLY | unix.O_NOFOLLOW, Mode: 0o640}
	f, err := open.Perform()
	if c.record.IDs.Many() && os.IsPermission(err) {
		f, err = c.cells.Beyond(open)
	}
	if err != nil {
		return nil, errors.Annotate(err, "cannot open the log")
	}
	if err := c.giveLog(f, first); err != nil {
		f.Close()
		return nil, errors.Annotate(err, "cannot give the log away")
	}
	return f, nil
}

// giveLog has the log belong to whom the program runs as, who may open /dev/stdout
// inside. The agent, where it isn't root, goes on to read it by its group.
func (c *Cell) giveLog(f *os.File, first *First) error {
	if os.Geteuid() == 0 {
		return f.Chown(c.OfProcess(first.UID, first.GID))
	}
	if !c.record.IDs.Many() {
		return nil
	}
	uid, _ := c.record.IDs.OnHost(first.UID, first.GID)
	if err := c.cells.disk().Lchown(first.Log, uid, os.Getegid()); err != nil {
		return err
	}
	return c.cells.disk().Chmod(first.Log, 0o660)
}

// runFirst starts the process that makes the root and becomes the program.
func (c *Cell) runFirst(ctx context.Context, set setUp, files []*os.File) error {
	in, err := c.firstSpaces(&set)
	if err != nil {
		return errors.Trace(err)
	}
	defer closeSpaces(in.joined)
	var p *child
	err = c.cells.disk().Do(durable.Step{Do: stepBegin, Path: c.dir}, func() (err error) {
		p, err = c.beginIn(c.record.Group, &set, in, files)
		return err
	})
	if err != nil {
		return errors.Trace(err)
	}
	defer p.release()
	stop := context.AfterFunc(ctx, p.abort)
	defer stop()
	if err := p.serveHands(); err != nil {
		return errors.Trace(err)
	}
	if c.record.Without, err = p.ask(set); err != nil {
		return errors.Trace(err)
	}
	// Without the go-ahead it ends by itself, so the record may say already what
	// holds once it has it.
	c.record.process = identify(p.process.Pid)
	c.record.Ready, c.record.Furnished = true, true
	if err := c.save(); err != nil {
		p.abort()
		return errors.Trace(err)
	}
	if err := c.cells.disk().Do(durable.Step{Do: stepGoAhead, Path: c.dir}, p.goAhead); err != nil {
		return errors.Trace(err)
	}
	p.began = c.record.Began
	if c.cells.children == nil {
		c.cells.children = map[string]*child{}
	}
	c.cells.children[c.key], c.first = p, p
	return nil
}

// firstSpaces are the name spaces that the first program has.
func (c *Cell) firstSpaces(set *setUp) (spaces, error) {
	in := spaces{attr: nameSpaces(*set), asks: set.Mapped.Many()}
	if set.Join {
		in.attr.Cloneflags &^= unix.CLONE_NEWUTS
	}
	if !set.Mapped.Many() || set.With == nil {
		return in, nil
	}
	// Those of the unit's machine, of users first: so what it has of its own is that one's
	// too, and it has rights there.
	all, err := spacesOf(set.With.record.Pid)
	if err != nil || !set.With.record.runs() {
		closeSpaces(all)
		return in, errors.New("the machine of the unit has ended")
	}
	const joins = unix.CLONE_NEWUSER | unix.CLONE_NEWUTS | unix.CLONE_NEWNET
	for _, s := range all {
		if s.kind&joins != 0 {
			in.joined = append(in.joined, s)
		} else {
			s.file.Close()
		}
	}
	set.Joined = true
	in.attr.Cloneflags &^= joins
	return in, nil
}

// beginIn starts the process in a cgroup, where it can.
func (c *Cell) beginIn(group string, set *setUp, in spaces, files []*os.File) (*child, error) {
	if group == "" {
		return c.begin(in, files...)
	}
	within, grouped := in, false
	if len(in.joined) > 0 {
		procs, err := os.OpenFile(filepath.Join(group, "cgroup.procs"), os.O_WRONLY, 0)
		if err == nil {
			defer procs.Close()
			within.group, grouped = procs, true
		}
	} else if dir, err := os.Open(group); err == nil {
		defer dir.Close()
		attr := *in.attr
		attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
		within.attr, grouped = &attr, true
	}
	if set.Group = grouped; grouped {
		if p, err := c.begin(within, files...); err == nil {
			return p, nil
		}
	}
	set.Group = false
	return c.begin(in, files...)
}
