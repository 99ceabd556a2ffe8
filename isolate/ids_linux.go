package isolate

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// MappedCommand is the first argument by which this program waits for its ids to be
// mapped, and then is itself with the arguments that follow; see Main.
const MappedCommand = "--cell-mapped"

// findIDs are the ids that the user of this process can have in a user name space.
// The error says in a line why there is one alone, and what to do about it.
func findIDs() (IDs, error) {
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			return IDs{}, errors.Errorf("there is no %s: install the package uidmap", program)
		}
	}
	id := strconv.Itoa(os.Geteuid())
	names := []string{id}
	if u, err := user.LookupId(id); err == nil {
		names = append(names, u.Username)
	}
	var ids IDs
	for _, f := range []struct {
		path string
		own  int
		to   *[]Range
	}{{"/etc/subuid", os.Geteuid(), &ids.UIDs}, {"/etc/subgid", os.Getegid(), &ids.GIDs}} {
		file, err := os.Open(f.path)
		if err != nil {
			return IDs{}, errors.Errorf("%s can't be read: %v", f.path, errors.Cause(err))
		}
		ranges, err := subordinate(file, names...)
		file.Close()
		if err != nil {
			who := names[len(names)-1]
			return IDs{}, errors.Errorf("%s has no %d ids for %s: usermod --add-subuids 100000-165535 --add-subgids 100000-165535 %s gives them", f.path, leastIDs, who, who)
		}
		*f.to = mapped(f.own, ranges)
	}
	return ids, nil
}

// give has a process that is in a new user name space have the ids there. The error
// is ErrNoRights where that is refused.
func (i IDs) give(pid int) error {
	for program, all := range map[string][]Range{"newuidmap": i.UIDs, "newgidmap": i.GIDs} {
		var said bytes.Buffer
		cmd := exec.Command(program, append([]string{strconv.Itoa(pid)}, arguments(all)...)...)
		cmd.Stdout, cmd.Stderr = &said, &said
		if err := cmd.Run(); err != nil {
			line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
			if line == "" {
				line = err.Error()
			}
			return errors.WithType(errors.Errorf("%s refuses the subordinate ids: %s; it has to be setuid root, as the package uidmap installs it, and the agent must be allowed to gain privileges",
				program, strings.TrimPrefix(line, program+": ")), ErrNoRights)
		}
	}
	return nil
}

// command is this program with arguments, as it is started in a user name space: it
// waits for a byte on its standard input, which it is sent by begun.
func (i IDs) command(program string, args ...string) *exec.Cmd {
	if i.Many() {
		args = append([]string{MappedCommand}, args...)
	}
	return exec.Command(program, args...)
}

// begun has what command has begun go on as root of its name space; in is the other
// end of its standard input. What fails is ended.
func (i IDs) begun(p *os.Process, in *os.File) error {
	if !i.Many() {
		return nil
	}
	err := i.give(p.Pid)
	if err == nil {
		_, err = in.WriteString("\n")
	}
	if err != nil {
		_ = p.Kill()
	}
	return errors.Trace(err)
}

// mappedMain waits until this process has its ids. It becomes root of its name space
// by being this program once more: the kernel takes the rights away from who had no
// id when it began.
func mappedMain(args []string) int {
	var b [1]byte
	for {
		n, err := unix.Read(0, b[:])
		if err == unix.EINTR {
			continue
		}
		if n != 1 || err != nil {
			return 1 // the agent was killed, or the ids were refused
		}
		break
	}
	_ = unix.Exec("/proc/self/exe", append([]string{os.Args[0]}, args...), os.Environ())
	return 1
}

// RunInside runs this program with those arguments as root of a name space with ids,
// which are many, and is what it prints for the input. The error has what the program
// says of why it failed, or is ErrNoRights.
func (c *Cells) RunInside(ctx context.Context, ids IDs, input []byte, args ...string) ([]byte, error) {
	if !ids.Many() {
		return nil, errors.WithType(errors.New("there are no subordinate ids"), ErrNoRights)
	}
	theirs, in, err := os.Pipe()
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer in.Close()
	defer theirs.Close()
	cmd := ids.command(c.program(), args...)
	var out, said bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.Dir = theirs, &out, &said, "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Cloneflags: unix.CLONE_NEWUSER}
	if err := cmd.Start(); err != nil {
		return nil, noRights("cannot make a name space of users", err)
	}
	stop := context.AfterFunc(ctx, func() { _ = cmd.Process.Kill() })
	defer stop()
	begun := ids.begun(cmd.Process, in)
	if begun == nil {
		_, _ = in.Write(input)
	}
	in.Close()
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, errors.Trace(ctx.Err())
	case begun != nil:
		return nil, errors.Trace(begun)
	case err != nil:
		line, _, _ := strings.Cut(strings.TrimSpace(said.String()), "\n")
		return nil, errors.Annotatef(err, "%s has failed: %s", filepath.Base(c.program()), line)
	}
	return out.Bytes(), nil
}
