package isolate

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// The numbers of the files that the process has which becomes the first program of
// a workload container. Those of the name spaces are there by setUp.Join.
const (
	lockFile = firstFile + iota
	logFile
	netFile
	utsFile
)

// firstMain makes the root of a workload container, says so, waits for the host's
// part, and becomes the first program.
func firstMain(s setUp, in *json.Decoder) int {
	// What this thread joins is the program's, which takes the place of all others.
	runtime.LockOSThread()
	reports, err := unix.FcntlInt(1, unix.F_DUPFD_CLOEXEC, utsFile+1)
	if err != nil {
		return 1
	}
	out := json.NewEncoder(os.NewFile(uintptr(reports), "reports"))
	for fd := lockFile; fd <= utsFile; fd++ {
		unix.CloseOnExec(fd)
	}
	without, err := makeContainer(s)
	if err != nil {
		_ = out.Encode(report{Err: err.Error(), Rights: errors.Is(err, ErrNoRights)})
		return 1
	}
	if out.Encode(report{Without: without}) != nil {
		return 1
	}
	var ahead goAhead
	if err := in.Decode(&ahead); err != nil {
		return 1 // the agent was killed
	}
	_ = out.Encode(report{Err: become(s).Error()})
	return 1
}

// become is the first program from here on; it returns only if it can't be.
func become(s setUp) error {
	f := s.First
	fail := func(err error) error { return errors.Annotatef(err, "cannot run %s", f.Path) }
	null, err := unix.Open("/dev/null", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fail(err)
	}
	for to, from := range []int{null, logFile, logFile} {
		if err := unix.Dup2(from, to); err != nil {
			return fail(err)
		}
	}
	dir := f.Dir
	if dir == "" {
		dir = "/"
	}
	if err := os.Chdir(dir); err != nil {
		return fail(err)
	}
	if err := dropRights(withhold(s.User, s.Join || s.Joined)); err != nil {
		return fail(err)
	}
	if !s.single() { // where there is one user nobody may say who else he is
		err := unix.Setgroups(f.Groups)
		if err == nil {
			err = unix.Setgid(f.GID)
		}
		if err == nil {
			err = unix.Setuid(f.UID)
		}
		if err != nil {
			return fail(err)
		}
	}
	return fail(unix.Exec(f.Path, append([]string{f.Path}, f.Args...), f.Env))
}

// makeContainer puts a container's root together and goes there. What is there of
// the host is taken first, as mounts that are nowhere: so nothing that the image
// has, such as a link, can lead out of the root while it is furnished.
func makeContainer(s setUp) (without []string, err error) {
	switch {
	case s.Joined:
	case s.Join:
		if err := unix.Setns(netFile, unix.CLONE_NEWNET); err != nil {
			return nil, noRights("cannot join the network of the unit's machine", err)
		}
		if err := unix.Setns(utsFile, unix.CLONE_NEWUTS); err != nil {
			return nil, noRights("cannot join the unit's machine", err)
		}
	default:
		if err := unix.Sethostname([]byte(s.Hostname)); err != nil {
			return nil, errors.Annotate(err, "cannot set the host name")
		}
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return nil, noRights("cannot part the mounts from the host's", err)
	}
	var places []string
	if s.onHost() {
		if places, err = dataPlaces(s); err != nil {
			return nil, errors.Trace(err)
		}
	}
	parts, err := takeParts(s)
	if err != nil {
		return nil, errors.Trace(err)
	}
	if err := s.bench(); err != nil {
		return nil, errors.Trace(err)
	}
	if without, err = layRoot(s, s.root, places); err != nil {
		return nil, errors.Trace(err)
	}
	if err := changeRoot(s.root); err != nil {
		return nil, errors.Trace(err)
	}
	if err := cover(places); err != nil {
		return nil, errors.Trace(err)
	}
	if err := putAll(parts); err != nil {
		return nil, errors.Trace(err)
	}
	if err := maskKernel(s.User, s.Join); err != nil {
		return nil, errors.Trace(err)
	}
	return without, nil
}

// layRoot mounts the layers with their changes.
func layRoot(s setUp, root string, places []string) (without []string, err error) {
	layers := s.lower()
	last := len(layers) - 1
	switch {
	case !s.onHost():
		return nil, layOver(s, layers, root)
	case s.User && s.hands == nil && last > 0:
		return nil, errors.WithType(errors.New("only root can have layers over the host's root"), ErrNoRights)
	case s.User && s.hands == nil:
		without, err = userRoot(s, root)
	default:
		var above []string
		if above, err = layAbove(s, layers[:last]); err == nil {
			without, err = hostRoot(s, root, places, above...)
		}
	}
	return without, errors.Trace(err)
}

// layAbove has layers as one file system: those that are in the host's root can't
// be above it themselves.
func layAbove(s setUp, layers []string) (above []string, err error) {
	if len(layers) == 0 {
		return nil, nil
	}
	none, at := filepath.Join(s.layers, "none"), filepath.Join(s.layers, "above")
	for _, d := range []string{none, at} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return nil, errors.Trace(err)
		}
	}
	reached, err := s.reachAll(layers)
	if err != nil {
		return nil, errors.Trace(err)
	}
	named, done, err := nameLayers(append(reached, none)) // one alone is no overlay
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer done()
	return []string{at}, noRights("cannot mount layers", unix.Mount("unitd", at, "overlay", 0, "lowerdir="+strings.Join(named, ":")+s.userOption()))
}

// nameLayers opens directories and is what names them in the options of a mount,
// until done is called: paths of the host would be told inside, and many of them
// don't fit.
func nameLayers(dirs []string) (named []string, done func(), err error) {
	var fds []int
	done = func() {
		for _, fd := range fds {
			unix.Close(fd)
		}
	}
	for _, d := range dirs {
		fd, err := unix.Open(d, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			done()
			return nil, nil, errors.Annotatef(err, "cannot open the layer %s", d)
		}
		fds = append(fds, fd)
		named = append(named, "/proc/self/fd/"+strconv.Itoa(fd))
	}
	return named, done, nil
}

// layOver mounts an overlay over directories.
func layOver(s setUp, layers []string, root string) error {
	dir := filepath.Join(s.layers, "root")
	upper, work := filepath.Join(dir, "upper"), filepath.Join(dir, "work")
	if err := os.MkdirAll(work, 0o755); err != nil {
		return errors.Trace(err)
	}
	layers, err := s.reachAll(layers)
	if err != nil {
		return errors.Trace(err)
	}
	if err := likeIt(s, layers[0], upper); err != nil {
		return errors.Trace(err)
	}
	named, done, err := nameLayers(append(slices.Clone(layers), upper, work))
	if err != nil {
		return errors.Trace(err)
	}
	defer done()
	n := len(layers)
	options := "lowerdir=" + strings.Join(named[:n], ":") + ",upperdir=" + named[n] + ",workdir=" + named[n+1]
	options += s.userOption()
	// Nothing of it outlives a crash, so nothing need be written for one.
	err = unix.Mount("unitd", root, "overlay", unix.MS_NODEV, options+",volatile")
	if err == unix.EINVAL { // a kernel before 5.10
		err = unix.Mount("unitd", root, "overlay", unix.MS_NODEV, options)
	}
	if err != nil && onOverlay(upper) {
		return errOnOverlay
	}
	return noRights("cannot mount the root of a workload container", err)
}

// changeRoot has the root in the place of the host's, of which nothing is left.
func changeRoot(root string) error {
	if err := os.Chdir(root); err != nil {
		return errors.Trace(err)
	}
	if err := unix.PivotRoot(".", "."); err != nil { // the former one is above it
		return noRights("cannot change the root", err)
	}
	if err := unix.Unmount(".", unix.MNT_DETACH); err != nil {
		return errors.Annotate(err, "cannot leave the host's root")
	}
	return errors.Trace(os.Chdir("/"))
}
