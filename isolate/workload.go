package isolate

import (
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// HostRoot is the host's root as the last one of Spec.Layers.
const HostRoot = "/"

// First is the program that is the first process of a workload container, in
// place of a cell's init: it is PID 1 of its own process ids, and when it ends
// so does all that runs in there.
type First struct {
	// Path is the program's, inside. Args are what follows its name.
	Path string
	Args []string
	// Env is all of its environment. Dir is where it begins; empty is "/".
	Env []string
	Dir string
	// UID, GID and Groups are whom it runs as, by the container's own numbers. Where
	// there is one user inside there are no further groups.
	UID, GID int
	Groups   []int
	// Log is the file of the host that its standard output and error are appended
	// to, which may be cut while it runs; empty is nowhere. It is made if it isn't
	// there, and belongs to whom the program runs as.
	Log string
}

// Bind is a file or a directory of the host that is seen in a workload container
// as well, with what is mounted in it when the container starts.
type Bind struct {
	// From is its path on the host. A file that is replaced there, and not
	// written to, stays the former one inside.
	From string
	// To is its path inside, which is made if nothing is there; links are followed
	// within the container's root.
	To       string
	ReadOnly bool
	// Theirs: it is others' too, and belongs to nobody inside, so that nothing that a
	// machine does to its own mounts lets it be written to.
	Theirs bool
}

// Limits are what all processes of a workload container may use together; zero is
// no limit.
type Limits struct {
	MemoryBytes int64
	// CPUMillis are thousandths of one processor.
	CPUMillis int
}

// Unkept is a limit of a workload container that nothing keeps, as "67108864 bytes of
// memory", and why.
type Unkept struct {
	Limit string `json:"limit"`
	Why   string `json:"why"`
}

// Exit is how the first program of a workload container has ended.
type Exit struct {
	// Known: it was started by this process; nobody else is told.
	Known bool
	// Code is the exit code. Signal is the number of the signal that has ended it, 0
	// for none; then Code is -1.
	Code, Signal int
}

// containerMark is between the key of a unit's cell and a container's name.
const containerMark = "+"

// ContainerKey is the key of a workload container of the unit whose cell has a
// key.
func ContainerKey(cell, container string) string { return cell + containerMark + container }

// CutContainer is the key, or the tag, of the unit's cell that a key, or the last
// part of one, belongs to, and the workload container's name; empty: it is the
// unit's cell itself.
func CutContainer(key string) (cell, container string) {
	cell, container, _ = strings.Cut(key, containerMark)
	return cell, container
}

// check looks whether a workload container can be made as the specification says.
func (s Spec) check() error {
	for i, l := range s.Layers {
		if !filepath.IsAbs(l) || l == HostRoot && i < len(s.Layers)-1 {
			return errors.NotValidf("layer %q of %s", l, s.Name)
		}
	}
	for _, b := range s.Binds {
		if !filepath.IsAbs(b.From) || !filepath.IsAbs(b.To) || filepath.Clean(b.To) == "/" {
			return errors.NotValidf("%q at %q of %s", b.From, b.To, s.Name)
		}
	}
	if f := s.First; !filepath.IsAbs(f.Path) || f.Dir != "" && !filepath.IsAbs(f.Dir) {
		return errors.NotValidf("program %q in %q of %s", f.Path, f.Dir, s.Name)
	}
	return nil
}

// lower are the directories under the container's root, top first; last may be
// HostRoot.
func (s Spec) lower() []string {
	switch {
	case len(s.Layers) > 0:
		return s.Layers
	case s.Root != "":
		return []string{s.Root}
	}
	return []string{HostRoot}
}

// onHost says whether the container's root is the host's, below all else.
func (s Spec) onHost() bool {
	l := s.lower()
	return l[len(l)-1] == HostRoot
}
