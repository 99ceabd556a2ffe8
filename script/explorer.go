package script

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/unitd/unitd/script/memory"
)

// explorer runs ways.
type explorer struct {
	ctx    context.Context
	engine *engine
	dir    string
	files  []txtar.File // of the script that explores
	here   string
	n      int
	seed   uint64
	// memory is the directory of what is known of hooks; empty: all are run.
	memory string
	// ways are those that were run by it, by name; repeated those that were run again.
	ways     map[string]way
	repeated map[string]bool
	// doubtful counts ways that have failed only where hooks were replayed.
	doubtful int
}

// failure is a way that failed, and why.
type failure struct {
	way
	why string
}

// newExplorer takes the script's files as they are now, but for the steps.
func (c *call) newExplorer(steps string, seed uint64, replayed bool) (*explorer, error) {
	files, err := filesBelow(c.ts.Getenv("WORK"), c.ts.MkAbs(steps))
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the script's files")
	}
	dir, err := os.MkdirTemp("", "unitd-explore-")
	if err != nil {
		return nil, errors.Trace(err)
	}
	x := &explorer{ctx: c.ctx, engine: c.engine, dir: dir, files: files, here: c.ts.Getenv("SCRIPT_DIR"), seed: seed, ways: map[string]way{}, repeated: map[string]bool{}}
	if replayed {
		x.memory = filepath.Join(dir, "memory")
		if err := memory.Make(x.memory); err != nil {
			x.close()
			return nil, err
		}
	}
	return x, nil
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
func (x *explorer) search(steps way, runs int) (*failure, error) {
	// The steps as they are written run alone: if they fail, nothing else need be run, and
	// their hooks are known to the ways that begin together after them.
	if f, err := x.first([]way{steps}); f != nil || err != nil {
		return f, err
	}
	// A few at a time, so that a failure is found before all are run.
	for first, size := 1, batch; first < runs; first, size = first+size, min(2*size, batches) {
		var ways []way
		for i := first; i < min(first+size, runs); i++ {
			ways = append(ways, steps.vary(rand.New(rand.NewPCG(x.seed, uint64(i)))))
		}
		if f, err := x.first(ways); f != nil || err != nil {
			return f, err
		}
	}
	return x.repeat()
}

// first is the first of the ways that fails; nil: none does.
func (x *explorer) first(ways []way) (*failure, error) {
	why, err := x.run(ways, x.memory)
	if err != nil {
		return nil, err
	}
	for i, w := range ways {
		if why[i] == "" {
			continue
		}
		if f, err := x.confirm(failure{w, why[i]}); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// repeat runs those ways once more in which a hook was replayed that has turned out not to be
// a function of its inputs, until there are no new ones; it is first of them.
func (x *explorer) repeat() (*failure, error) {
	for x.memory != "" {
		var ways []way
		for _, name := range memory.Doubtful(x.memory) {
			if w, ok := x.ways[name]; ok && !x.repeated[name] {
				x.repeated[name] = true
				ways = append(ways, w)
			}
		}
		if len(ways) == 0 {
			break
		}
		if f, err := x.first(ways); f != nil || err != nil {
			return f, err
		}
	}
	return nil, nil
}

// batch is how many ways are run after the first before it is looked whether one has
// failed; then it is twice as many each time, up to batches.
const (
	batch   = 10
	batches = 80
)

// waysAtOnce is how many ways run at once for each processor: a world waits half of its time,
// for processes that begin or end.
const waysAtOnce = 2

// confirm is a failure as it is if all hooks are run; nil: the way doesn't fail then.
func (x *explorer) confirm(f failure) (*failure, error) {
	if x.memory == "" {
		return &f, nil
	}
	why, err := x.run([]way{f.way}, "")
	if err != nil {
		return nil, err
	}
	if why[0] == "" {
		x.doubtful++
		return nil, nil
	}
	return &failure{f.way, why[0]}, nil
}

// run runs ways beside each other, and says why each failed; empty: it didn't. Hooks are
// replayed by the memory in a directory; empty: all are run.
func (x *explorer) run(ways []way, known string) ([]string, error) {
	why := make([]string, len(ways))
	byName := map[string]int{}
	p := x.engine.Params
	p.Files, p.Update, p.Keep, p.Here, p.Seed, p.memory, p.ways = nil, false, false, x.here, x.seed, known, true
	for i, w := range ways {
		x.n++
		name := fmt.Sprintf("way-%06d", x.n)
		path := filepath.Join(x.dir, name+".txtar")
		if err := os.WriteFile(path, []byte(x.script(w)), 0o600); err != nil {
			return nil, errors.Trace(err)
		}
		p.Files = append(p.Files, path)
		byName[name] = i
		if known != "" {
			x.ways[name] = w
		}
	}
	s := &Suite{Params: p, Parallel: waysAtOnce * runtime.NumCPU(), Out: io.Discard}
	outcomes, err := s.Run(x.ctx)
	if err != nil {
		return nil, err
	}
	for _, o := range outcomes {
		if o.Outcome == Failed {
			why[byName[o.Name]] = reason(o.Output)
		}
		if known == "" || !memory.Spoilt(known, o.Name) {
			continue
		}
		again, err := x.run([]way{ways[byName[o.Name]]}, "")
		if err != nil {
			return nil, err
		}
		why[byName[o.Name]] = again[0]
	}
	return why, errors.Trace(x.ctx.Err())
}

// found says what replays have spared, and of which hooks there were none.
func (x *explorer) found() string {
	if x.memory == "" {
		return ""
	}
	n := memory.Count(x.memory)
	text := fmt.Sprintf("; %d hooks, of which %d were run and %d replayed", n.Ran+n.Replayed, n.Ran, n.Replayed)
	for _, line := range memory.Refused(x.memory) {
		text += "\n" + line
	}
	if x.doubtful > 0 {
		text += fmt.Sprintf("\nways that failed, and didn't when all their hooks were run: %d", x.doubtful)
	}
	return text
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

// shrink makes a way shorter that has failed with all hooks run. So has what it returns.
func (x *explorer) shrink(f failure) failure {
	deadline := time.Now().Add(shrinkTime)
	short := x.shrinkBy(f, x.memory, deadline)
	if x.memory == "" || slices.Equal(short.lines, f.lines) {
		return short
	}
	why, err := x.run([]way{short.way}, "")
	if err == nil && same(why[0], f.why) {
		return failure{short.way, why[0]}
	}
	return x.shrinkBy(f, "", deadline)
}

// shrinkBy takes away lines as long as the way fails for the same reason, and makes the
// numbers in what is left smaller. known is as in run.
func (x *explorer) shrinkBy(f failure, known string, deadline time.Time) failure {
	for changed := true; changed && time.Now().Before(deadline); {
		changed = false
		for _, shorter := range f.shorter() {
			why, err := x.run([]way{shorter}, known)
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
