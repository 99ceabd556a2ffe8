package bench

import (
	"cmp"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/mounts"
)

// Options say what is measured, and how.
type Options struct {
	// Agent is the command of a process that is Serve with this data directory.
	Agent func(dir string) *exec.Cmd
	// Store is the name of the store's file in a data directory.
	Store string
	// Temp is where the files are; empty: where temporary files usually are.
	Temp string
	// Only are the Names of what is measured; empty: all.
	Only []string
	// Units is how many units a crowd has, and how many others a unit has in a peer
	// relation; Count how often a call, a hook and a commit are measured; Rounds how
	// often a crowd and a unit with its peers are. Each is at least 1.
	Units, Count, Rounds int
	// Progress is told what is measured, and how much of it is done; nil: nobody is.
	Progress func(name string, done, of int)
}

// figures are what can be asked for, in the order in which it is measured.
var figures = []struct {
	name    string
	measure func(context.Context, *measuring) ([]Figure, error)
}{
	{"tool", measureTool},
	{"hook", measureHook},
	{"crowd", measureCrowd},
	{"peers", measurePeers},
	{"commit", measureCommit},
}

// Names are what can be asked for.
func Names() (names []string) {
	for _, f := range figures {
		names = append(names, f.name)
	}
	return names
}

// measuring is one run.
type measuring struct {
	Options
	dir  string // of all its files
	name string // of what is measured
}

// Run measures, and leaves no process or file behind, also if the context ends,
// whose error it then returns. The error is NotValid for a name that there isn't,
// and for numbers that are too small.
func Run(ctx context.Context, o Options) (r Report, err error) {
	if err := o.check(); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp(o.Temp, "unitd-bench-")
	if err != nil {
		return r, errors.Annotate(err, "cannot make a temporary directory (TMPDIR)")
	}
	defer func() {
		if removed := os.RemoveAll(dir); err == nil {
			err = errors.Annotate(removed, "cannot remove the temporary directory")
		}
	}()
	r = Report{System: runtime.GOOS + "/" + runtime.GOARCH, Processors: runtime.NumCPU(), Files: filepath.Dir(dir), FileSystem: fileSystem(dir)}
	for _, f := range figures {
		if len(o.Only) > 0 && !slices.Contains(o.Only, f.name) {
			continue
		}
		measured, err := f.measure(ctx, &measuring{o, dir, f.name})
		if ctx.Err() != nil {
			return r, errors.Trace(ctx.Err())
		}
		if err != nil {
			return r, errors.Annotatef(err, "cannot measure %q", f.name)
		}
		r.Figures = append(r.Figures, measured...)
	}
	return r, nil
}

func (o Options) check() error {
	for _, name := range o.Only {
		if !slices.Contains(Names(), name) {
			return errors.NewNotValid(nil, "there is no figure \""+name+"\"; the figures are "+strings.Join(Names(), ", "))
		}
	}
	if min(o.Units, o.Count, o.Rounds) < 1 {
		return errors.NewNotValid(nil, "units, count and rounds must be at least 1")
	}
	return nil
}

// done tells how far it is.
func (m *measuring) done(n, of int) {
	if m.Progress != nil {
		m.Progress(m.name, n, of)
	}
}

// fileSystem is the kind of that which dir is on; empty: it can't be told.
func fileSystem(dir string) string {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return ""
	}
	all, err := mounts.Own()
	if err != nil {
		return ""
	}
	under := slices.DeleteFunc(all, func(m mounts.Mount) bool {
		return m.At != "/" && dir != m.At && !strings.HasPrefix(dir, m.At+"/")
	})
	if len(under) == 0 {
		return ""
	}
	// Of those at one place the last one is seen.
	slices.SortStableFunc(under, func(a, b mounts.Mount) int { return cmp.Compare(len(a.At), len(b.At)) })
	return under[len(under)-1].Kind
}
