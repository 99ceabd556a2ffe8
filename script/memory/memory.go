package memory

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/replay"
	"github.com/unitd/unitd/state"
)

// The variables that tell the agent of a world of its memory.
const (
	DirVariable  = "UNITD_LAB_MEMORY"      // the directory; empty: there is none
	WayVariable  = "UNITD_LAB_MEMORY_WAY"  // what the world is called there
	SeedVariable = "UNITD_LAB_MEMORY_SEED" // for what is left to chance
)

// Memory is what the agents of one exploration know of hooks. It is for one agent; all
// share the directory.
type Memory struct {
	// Dir is the directory. Way names the agent's world there, Seed chooses the samples.
	Dir, Way, Seed string
	// World is the agent's own data directory.
	World string
	// Real says of a program that it is to be run in any case; nil: none is.
	Real func(machine.Program) bool

	mu      sync.Mutex
	lookers map[string]*looker // by charm directory
	likes   map[string]string
}

// The directories and files in a Memory's.
const (
	runsDir     = "runs"     // by the key of a start: the runs, a file each
	contentsDir = "contents" // of files, by their sums
	likesDir    = "likes"    // what contents mean, by their sums
	codeDir     = "code"     // what interpreters have compiled, by charm
	refusedDir  = "refused"  // hooks that aren't replayed, and why
	firstDir    = "first"    // hooks of which a sample was taken
	usedDir     = "used"     // hooks with the ways in which they were replayed
	spoiltDir   = "spoilt"   // ways in which a replay has gone wrong
	ranFile     = "ran"      // has a byte for each hook that was run
	playedFile  = "played"   // and for each that was replayed
)

// Make makes an empty memory in a directory.
func Make(dir string) error {
	for _, name := range []string{runsDir, contentsDir, likesDir, codeDir, refusedDir, firstDir, usedDir, spoiltDir} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o700); err != nil {
			return errors.Annotate(err, "cannot make a memory of hooks")
		}
	}
	return nil
}

// Counts are how many hooks were run, and how many replayed.
type Counts struct{ Ran, Replayed int64 }

// Count is them, of the memory in a directory.
func Count(dir string) Counts {
	size := func(name string) int64 {
		st, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			return 0 // there was none so far
		}
		return st.Size()
	}
	return Counts{Ran: size(ranFile), Replayed: size(playedFile)}
}

// Refused are the hooks that aren't replayed any more, each with the reason, sorted.
func Refused(dir string) []string {
	entries, err := os.ReadDir(filepath.Join(dir, refusedDir))
	if err != nil {
		return nil
	}
	var all []string
	for _, e := range entries {
		if b, err := os.ReadFile(filepath.Join(dir, refusedDir, e.Name())); err == nil && len(b) > 0 {
			all = append(all, string(b))
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Spoilt says whether a replay has gone wrong in a way, which is worth nothing then.
func Spoilt(dir, way string) bool {
	_, err := os.Stat(filepath.Join(dir, spoiltDir, way))
	return err == nil
}

// Doubtful are the ways in which hooks were replayed that aren't replayed any more, sorted.
func Doubtful(dir string) []string {
	refused, err := os.ReadDir(filepath.Join(dir, refusedDir))
	if err != nil {
		return nil
	}
	used, err := os.ReadDir(filepath.Join(dir, usedDir))
	if err != nil {
		return nil
	}
	var ways []string
	for _, u := range used {
		name, way, _ := strings.Cut(u.Name(), usedBy)
		if slices.ContainsFunc(refused, func(r os.DirEntry) bool { return name == r.Name() || strings.HasPrefix(name, r.Name()+"-") }) {
			ways = append(ways, way)
		}
	}
	slices.Sort(ways)
	return slices.Compact(ways)
}

// usedBy stands between a hook and a way.
const usedBy = "@"

// count adds a byte to a file.
func (m *Memory) count(name string) {
	f, err := os.OpenFile(filepath.Join(m.Dir, name), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return // it is for people alone
	}
	defer f.Close()
	_, _ = f.Write([]byte{'.'})
}

// hook names a hook of a charm in file names.
func hook(p machine.Program) string { return p.Charm + "-" + p.Hook.Name() }

// refused says whether a hook isn't to be replayed.
func (m *Memory) refused(p machine.Program) bool {
	for _, name := range []string{hook(p), p.Charm} {
		if _, err := os.Stat(filepath.Join(m.Dir, refusedDir, name)); err == nil {
			return true
		}
	}
	return false
}

// refuse has a hook not be replayed any more, for a reason that people are told.
func (m *Memory) refuse(p machine.Program, why string) {
	m.put(filepath.Join(refusedDir, hook(p)), []byte(fmt.Sprintf("%s of %s isn't replayed: %s", p.Hook.Name(), p.Unit.Application(), why)))
}

// refuseCharm has no hook of a charm be replayed any more.
func (m *Memory) refuseCharm(p machine.Program, why string) {
	m.put(filepath.Join(refusedDir, p.Charm), []byte(fmt.Sprintf("no hook of %s is replayed: %s", p.Unit.Application(), why)))
}

// spoil notes that the world has become one that there can't be.
func (m *Memory) spoil() { m.put(filepath.Join(spoiltDir, m.Way), nil) }

// put writes a file that others read at any time, unless there is one.
func (m *Memory) put(name string, content []byte) bool {
	path := filepath.Join(m.Dir, name)
	f, err := os.CreateTemp(m.Dir, "next-")
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	_, err = f.Write(content)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return err == nil && os.Link(f.Name(), path) == nil
}

// recall has all that is known of a start. The error is replay.ErrDiffers where that
// contradicts itself: two worlds have found it out at once.
func (m *Memory) recall(key string) (*replay.Tree, error) {
	t := &replay.Tree{}
	dir := filepath.Join(m.Dir, runsDir, key)
	entries, err := os.ReadDir(dir)
	if err != nil {
		return t, nil
	}
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return nil, errors.Trace(err)
		}
		var r replay.Run
		if err := json.Unmarshal(b, &r); err != nil {
			return nil, errors.Trace(err)
		}
		if _, err := t.Add(r); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// keep adds a run to what is known of a start.
func (m *Memory) keep(key string, r replay.Run) error {
	b, err := json.Marshal(r)
	if err != nil {
		return errors.Trace(err)
	}
	if err := os.MkdirAll(filepath.Join(m.Dir, runsDir, key), 0o700); err != nil {
		return errors.Trace(err)
	}
	m.put(filepath.Join(runsDir, key, replay.Key(string(b))), b)
	return nil
}

// share: of so many hooks that could be replayed one is a sample.
const share = 40

// sampled says whether a hook that could be replayed is run all the same: of each charm's
// hook the first one, and then some as the seed has it.
func (m *Memory) sampled(p machine.Program) bool {
	if m.put(filepath.Join(firstDir, hook(p)), nil) {
		return true
	}
	sum := fnv.New64a()
	fmt.Fprintf(sum, "%s %s %s %d", m.Seed, m.Way, p.Unit, p.Run)
	return sum.Sum64()>>8%share == 0
}

// SecretID is machine.Config.SecretID: the same for the same secret of a unit in each world,
// and another one for each.
func (m *Memory) SecretID(modelName string, unit model.UnitName) (model.SecretID, error) {
	dir := filepath.Join(m.World, "lab-secrets")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", errors.Trace(err)
	}
	f, err := os.OpenFile(filepath.Join(dir, modelName+"-"+unit.Tag()), os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	if _, err := f.Write([]byte{'.'}); err != nil {
		return "", errors.Trace(err)
	}
	st, err := f.Stat()
	if err != nil {
		return "", errors.Trace(err)
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %s %d", modelName, unit, st.Size()))
	return state.SecretIDOf(sum[:12]), nil
}

// variable is the value of a variable in an environment; empty: there is none.
func variable(env []string, name string) string {
	for _, v := range env {
		if value, ok := strings.CutPrefix(v, name+"="); ok {
			return value
		}
	}
	return ""
}
