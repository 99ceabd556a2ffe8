package script

import (
	"context"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/txtar"
)

// exploreCommands run steps in many ways.
func exploreCommands() []Cmd {
	return []Cmd{{
		Name: "explore", Args: "[-seed N] [-runs N] FILE",
		Summary: "run the steps in a file in many of the ways in which they may come about, each in a world of its own; a way that fails is made as short as can be, and printed",
		run:     (*call).explore,
	}}
}

// way is one way in which steps come about: a script, line by line. What
// follows the first "# then" of the steps is claimed at the end of each.
type way struct {
	lines []string
	then  []string
}

// text is the way as a script.
func (w way) text() string {
	lines := append(append([]string(nil), w.lines...), "settle")
	return strings.Join(append(lines, w.then...), "\n") + "\n"
}

// readSteps reads the steps of a file.
func readSteps(text string) way {
	var w way
	claims := false
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case line == "# then":
			claims = true
		case line == "" || strings.HasPrefix(line, "#"):
		case claims:
			w.then = append(w.then, line)
		default:
			w.lines = append(w.lines, line)
		}
	}
	return w
}

// vary makes another way of the same steps. What it varies are the things that
// no guarantee speaks of: which unit is faster, how far units have come when
// the next step is taken, and whether an agent is killed in between.
func (w way) vary(chance *rand.Rand) way {
	out := way{then: w.then, lines: []string{fmt.Sprintf("order %d", 1+chance.IntN(1<<20))}}
	for _, step := range w.lines {
		out.lines = append(out.lines, step)
		switch chance.IntN(6) {
		case 0:
			out.lines = append(out.lines, "settle")
		case 1, 2:
			out.lines = append(out.lines, fmt.Sprintf("run-hooks %d", 1+chance.IntN(6)))
		case 3:
			if chance.IntN(3) == 0 {
				out.lines = append(out.lines, "kill-agent", "restart-agent")
			}
		}
	}
	return out
}

func (c *call) explore() error {
	flags := flag.NewFlagSet("explore", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	seed := flags.Uint64("seed", c.engine.Seed, "")
	runs := flags.Int("runs", 50, "")
	if err := flags.Parse(c.args); err != nil || flags.NArg() != 1 || *runs < 1 {
		return c.usagef("expected a file with steps")
	}
	if *seed == 0 {
		*seed = rand.Uint64N(1 << 32)
	}
	steps := readSteps(c.ts.ReadFile(flags.Arg(0)))
	if len(steps.lines) == 0 {
		return c.usagef("%s has no steps", flags.Arg(0))
	}
	x, err := c.newExplorer(flags.Arg(0))
	if err != nil {
		return err
	}
	defer x.close()
	found, err := x.search(steps, *seed, *runs)
	if err != nil {
		return err
	}
	c.printf("%d ways, seed %d\n", *runs, *seed)
	if found == nil {
		return nil
	}
	shortest := x.shrink(*found)
	return errors.Errorf("explore -seed %d: a way of these steps fails: %s\nThe shortest script that fails so, ready to keep:\n\n%s",
		*seed, shortest.why, indent(x.script(shortest.way)))
}

func indent(text string) string {
	return "    " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n    ")
}

// explorer runs ways.
type explorer struct {
	ctx    context.Context
	engine *engine
	dir    string
	files  []txtar.File // of the script that explores
	here   string
	n      int
}

// failure is a way that failed, and why.
type failure struct {
	way
	why string
}

// newExplorer takes the script's files as they are now, but for the steps.
func (c *call) newExplorer(steps string) (*explorer, error) {
	files, err := filesBelow(c.ts.Getenv("WORK"), c.ts.MkAbs(steps))
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the script's files")
	}
	dir, err := os.MkdirTemp("", "unitd-explore-")
	if err != nil {
		return nil, errors.Trace(err)
	}
	return &explorer{ctx: c.ctx, engine: c.engine, dir: dir, files: files, here: c.ts.Getenv("SCRIPT_DIR")}, nil
}

// filesBelow are the files in a script's directory, but for one, and for those
// of the world itself, whose names begin with a dot.
func filesBelow(dir, but string) ([]txtar.File, error) {
	var files []txtar.File
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != dir && filepath.Dir(path) == dir && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || path == but:
			return nil
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		files = append(files, txtar.File{Name: name, Data: data})
		return err
	})
	return files, err
}

func (x *explorer) close() { os.RemoveAll(x.dir) }

// script is a way with the files of the script that explores.
func (x *explorer) script(w way) string {
	return string(txtar.Format(&txtar.Archive{Comment: []byte(w.text() + "\n"), Files: x.files}))
}

// search runs so many ways, and returns the first of them, by number, that
// fails; nil: none does.
func (x *explorer) search(steps way, seed uint64, runs int) (*failure, error) {
	// A few at a time, so that a failure is found before all are run.
	for first := 0; first < runs; first += batch {
		var ways []way
		for i := first; i < min(first+batch, runs); i++ {
			if i == 0 {
				ways = append(ways, steps)
				continue
			}
			ways = append(ways, steps.vary(rand.New(rand.NewPCG(seed, uint64(i)))))
		}
		why, err := x.run(ways)
		if err != nil {
			return nil, err
		}
		for i, w := range ways {
			if why[i] != "" {
				return &failure{w, why[i]}, nil
			}
		}
	}
	return nil, nil
}

// batch is how many ways are run before it is looked whether one has failed.
const batch = 10

// run runs ways beside each other, and says why each failed; empty: it didn't.
func (x *explorer) run(ways []way) ([]string, error) {
	why := make([]string, len(ways))
	byName := map[string]int{}
	p := x.engine.Params
	p.Files, p.Update, p.Keep, p.Here = nil, false, false, x.here
	for i, w := range ways {
		x.n++
		name := fmt.Sprintf("way-%06d", x.n)
		path := filepath.Join(x.dir, name+".txtar")
		if err := os.WriteFile(path, []byte(x.script(w)), 0o600); err != nil {
			return nil, errors.Trace(err)
		}
		p.Files = append(p.Files, path)
		byName[name] = i
	}
	s := &Suite{Params: p, Parallel: runtime.NumCPU(), Out: io.Discard}
	outcomes, err := s.Run(x.ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o.Outcome == Failed {
			why[byName[o.Name]] = reason(o.Output)
		}
	}
	return why, errors.Trace(x.ctx.Err())
}

// reason is what the line said that failed.
func reason(output string) string {
	if _, said, ok := strings.Cut(output, "FAIL: "); ok {
		if _, rest, ok := strings.Cut(said, ".txtar:"); ok {
			if _, what, ok := strings.Cut(rest, ": "); ok {
				return strings.TrimSpace(what)
			}
		}
		return strings.TrimSpace(said)
	}
	return "it fails"
}

// shrinkTime bounds the search for something shorter.
const shrinkTime = 2 * time.Minute

// shrink takes away lines as long as the way fails for the same reason, and
// makes the numbers in what is left smaller.
func (x *explorer) shrink(f failure) failure {
	deadline := time.Now().Add(shrinkTime)
	for changed := true; changed && time.Now().Before(deadline); {
		changed = false
		for _, shorter := range f.shorter() {
			why, err := x.run([]way{shorter})
			if err != nil {
				return f
			}
			if same(why[0], f.why) {
				f, changed = failure{shorter, why[0]}, true
				break
			}
		}
	}
	return f
}

// same says whether two failures are the same one: the unit and the hook are
// named in the first line.
func same(a, b string) bool {
	first := func(s string) string {
		line, _, _ := strings.Cut(s, "\n")
		line, _, _ = strings.Cut(line, "(")
		return strings.TrimSpace(line)
	}
	return a != "" && first(a) == first(b)
}

// shorter are the ways with something less, halves first.
func (w way) shorter() []way {
	var out []way
	without := func(from, to int) {
		lines := append(append([]string(nil), w.lines[:from]...), w.lines[to:]...)
		out = append(out, way{lines, w.then})
	}
	for size := len(w.lines) / 2; size >= 1; size /= 2 {
		for from := 0; from+size <= len(w.lines); from += size {
			without(from, from+size)
		}
	}
	for i, line := range w.lines {
		if strings.HasPrefix(line, "run-hooks ") && line != "run-hooks 1" {
			lines := append([]string(nil), w.lines...)
			lines[i] = "run-hooks 1"
			out = append(out, way{lines, w.then})
		}
	}
	return out
}
