package script

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/unitd/unitd/bases"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// Params says what is to be run, and how.
type Params struct {
	// Files are the scripts.
	Files []string
	// Unitd is the unitd program. RunFiles finds it by itself where it is empty:
	// that of $UNITD_BIN, else the one on PATH, else it is built, for which the
	// module must be among the caller's dependencies.
	Unitd string
	// Isolate is how applications are isolated for which deploy isn't told, one of
	// model.IsolationModes; empty: as $UNITD_ISOLATE says, else they aren't. That it
	// can be had isn't checked.
	Isolate string
	// Bases is the directory of the bases that machines with systemd are on; empty: what
	// $UNITD_BASES says.
	Bases string
	// Pebble is the program for workload containers; empty: what $UNITD_PEBBLE or
	// the PATH has, else that of each image.
	Pebble string
	// Store gives each script, by its name, the URL of a store in etcd for its
	// world, which nobody else has; nil: each has a file. Such a world has no
	// snapshots.
	Store func(name string) string
	// Patience is how long, in real time, a world may take to do what is due; 0: two minutes.
	Patience time.Duration
	// Hurry, where it is set, says at each wait how much of that there is, from any goroutine; 0: all.
	Hurry func() time.Duration
	// Update rewrites the files in scripts that cmp finds different.
	Update bool
	// Environment are more variables, NAME=VALUE, for all hooks and commands of units. $WORK in a
	// value is the script's directory, which isolated units see, too.
	Environment []string
	// Keep leaves the scripts' directories where they are, and says where.
	Keep bool
	// Here is what $SCRIPT_DIR is to be; empty: the directory of each script.
	Here string
	// Closed lets isolated units reach only the host and each other. Machine is the seed that their
	// machines begin with, see isolate.Gather; empty: none.
	Closed  bool
	Machine string
	// Seed is for what is left to chance; scripts that use it say so when they
	// fail. 0: another one each time.
	Seed uint64

	// Seen, where it is set, is shown each script's world once the script has ended, while
	// the world is still there. It may be called many times at once.
	Seen func(context.Context, Seen)

	door   *Door  // the one that the script is for; nil: none
	memory string // the directory of the memory that the worlds share; empty: they have none
	ways   bool   // the scripts are ways of an exploration
}

// Seen is the world of a script that has ended: the model in focus, whose agent, if it still
// runs, works in Dir.
type Seen struct {
	File  string
	Model *state.Model
	Dir   string
	// Why says what holds a unit up; nothing if nothing does.
	Why func(model.UnitName) string
}

// Run runs the scripts (*.txtar) in a directory as subtests of t, in parallel.
func Run(t *testing.T, dir string) {
	t.Helper()
	files, err := Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	RunFiles(t, Params{Files: files})
}

// RunFiles is Run with all that can be said.
func RunFiles(t *testing.T, p Params) {
	t.Helper()
	unitd, err := p.program()
	if err == nil && unitd == "" {
		unitd, err = build(t.TempDir())
	}
	if err != nil {
		t.Fatal(err)
	}
	p.Unitd = unitd
	RunT(t.Context(), goTest{t}, p)
}

// RunT runs scripts outside of "go test" as well. It returns when t.Run does.
// When ctx ends, so do the scripts and all that they have started.
func RunT(ctx context.Context, t testscript.T, p Params) {
	for _, file := range p.Files {
		if err := readable(file); err != nil {
			t.Fatal(err)
		}
	}
	p.Bases = cmp.Or(p.Bases, os.Getenv(bases.Variable))
	p.Isolate = cmp.Or(p.Isolate, os.Getenv(isolateVariable), model.IsolateOff)
	e := &engine{Params: p, ctx: ctx, files: named(p.Files)}
	testscript.RunT(watched{T: t, engine: e, ended: new(bool)}, testscript.Params{
		Files:              p.Files,
		Setup:              e.setUp,
		Cmds:               e.commands(),
		Condition:          e.condition,
		UpdateScripts:      p.Update,
		TestWork:           p.Keep,
		RequireUniqueNames: true,
	})
}

// isolateVariable tells unitd how units are isolated where no flag does.
const isolateVariable = "UNITD_ISOLATE"

// condition is what scripts can ask for beside testscript's conditions.
func (e *engine) condition(name string) (bool, error) {
	switch name {
	case "isolated":
		return e.Isolate != model.IsolateOff, nil
	case "machine":
		return e.machinesRun(), nil
	case "containers":
		return e.containersRun(), nil
	case "pebble":
		return e.pebbleIsHere()
	case "network", "network:delay":
		return e.networksFail(name == "network:delay")
	}
	return false, errors.NotFoundf("condition %q", name)
}

// machinesRun says whether units can have machines with systemd, so far as their charms are
// for a base that is there.
func (e *engine) machinesRun() bool {
	all, err := bases.Store{Dir: e.Bases}.List()
	return err == nil && len(all) > 0 && os.Geteuid() == 0 && e.Isolate != model.IsolateOff
}

// readable says whether a file can be read as a txtar archive. The package that
// reads those panics at a line with a file that has no name.
func readable(file string) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.NewNotValid(nil, fmt.Sprintf("%s: a line \"-- NAME --\" has no name", file))
		}
	}()
	_, err = txtar.ParseFile(file)
	return errors.Annotate(err, "cannot read the script")
}

// named are the files by the names that testscript gives them: that of the
// file, with a number where there are several of the same.
func named(files []string) map[string]string {
	names := map[string]string{}
	for _, file := range files {
		base := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".txt"), ".txtar")
		name := base
		for i := 1; names[name] != ""; i++ {
			name = fmt.Sprintf("%s#%d", base, i)
		}
		names[name] = file
	}
	return names
}

// Find are the scripts that a path means: itself, or those in the directory, in
// the order of their names. The error is NotFound where there are none.
func Find(path string) ([]string, error) {
	st, err := os.Stat(path)
	switch {
	case os.IsNotExist(err):
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no script was found at %q", path))
	case err != nil:
		return nil, errors.Annotate(err, "cannot look for scripts")
	case !st.IsDir():
		return []string{path}, nil
	}
	files, err := filepath.Glob(filepath.Join(path, "*.txtar"))
	if err != nil {
		return nil, errors.Annotate(err, "cannot look for scripts")
	}
	if len(files) == 0 {
		return nil, errors.NewNotFound(nil, fmt.Sprintf("no script (*.txtar) was found in %q", path))
	}
	slices.Sort(files)
	return files, nil
}

// engine runs scripts; each has a world of its own.
type engine struct {
	Params
	ctx    context.Context
	files  map[string]string
	worlds sync.Map // by name of the script: *world
}

// program finds the unitd program; empty: it has to be built.
func (p Params) program() (string, error) {
	for _, path := range []string{p.Unitd, os.Getenv("UNITD_BIN")} {
		if path != "" {
			return filepath.Abs(path)
		}
	}
	if path, err := exec.LookPath("unitd"); err == nil {
		return filepath.Abs(path)
	}
	return "", nil
}

// build builds unitd and the hook tools' client in a directory.
func build(dir string) (string, error) {
	for name, pkg := range map[string]string{"unitd": "cmd/unitd", "unitd-hooktool": "cmd/hooktool"} {
		cmd := exec.Command("go", "build", "-o", filepath.Join(dir, name), "github.com/unitd/unitd/"+pkg)
		if out, err := cmd.CombinedOutput(); err != nil {
			return "", errors.Errorf("cannot build unitd: %v: %s", err, strings.TrimSpace(string(out)))
		}
	}
	return filepath.Join(dir, "unitd"), nil
}

// goTest is a testing.T for testscript.
type goTest struct{ *testing.T }

// Run is part of testscript.T.
func (t goTest) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(t *testing.T) { f(goTest{t}) })
}

// Verbose is part of testscript.T.
func (t goTest) Verbose() bool { return testing.Verbose() }

// watched is a test that says, when it fails, how the script's world looked.
type watched struct {
	testscript.T
	engine *engine
	name   string
	ended  *bool // it has failed or was skipped
}

// Run is part of testscript.T.
func (t watched) Run(name string, f func(testscript.T)) {
	t.T.Run(name, func(inner testscript.T) {
		f(watched{T: inner, engine: t.engine, name: name, ended: new(bool)})
	})
}

// Skip is part of testscript.T.
func (t watched) Skip(args ...any) {
	*t.ended = true
	t.T.Skip(args...)
}

// FailNow is part of testscript.T. The world is still as it was when the line
// failed.
func (t watched) FailNow() {
	*t.ended = true
	if w, ok := t.engine.worlds.Load(t.name); ok {
		t.T.Log(w.(*world).report())
	}
	t.T.FailNow()
}
