package machine_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
)

// tallyingCharm counts each of its hooks in its state, which nobody damages.
const tallyingCharm = `
n=$(state-get "$JUJU_HOOK_NAME")
state-set "$JUJU_HOOK_NAME"=$((n + 1))
`

// stateFiles are the files that an agent keeps of a unit, and what may run
// because one of them is damaged.
var stateFiles = map[string]struct {
	path func(w *world, unit model.UnitName) string
	runs map[string]int
}{
	// A slot has many records: without it more than the newest run is missing.
	"journal-0": {func(w *world, u model.UnitName) string { return filepath.Join(w.unitDir(u), "journal-0") },
		map[string]int{"upgrade-charm": 1}},
	"journal-1": {func(w *world, u model.UnitName) string { return filepath.Join(w.unitDir(u), "journal-1") },
		map[string]int{"upgrade-charm": 1}},
	"the charm's marker": {func(w *world, u model.UnitName) string { return filepath.Join(w.unitDir(u), "charm", ".unitd-charm") },
		map[string]int{"upgrade-charm": 1}},
	"the history": {func(w *world, u model.UnitName) string {
		return history.Path(machine.HistoryDir(w.dir, w.model.UUID()), u)
	}, nil},
	"a recording": {func(w *world, u model.UnitName) string {
		return recording.Path(machine.RecordingsDir(w.dir, w.model.UUID()), u)
	}, nil},
	"the log": {func(w *world, _ model.UnitName) string { return machine.LogPath(w.dir, w.model.UUID()) }, nil},
}

// damage is what is done to a file of a unit; a negative offset stands for the
// file's removal.
type damage struct {
	file   string
	offset int
	cut    bool // cut off there, else one bit of the byte there is flipped
}

func (d damage) String() string {
	switch {
	case d.offset < 0:
		return d.file + ": removed"
	case d.cut:
		return fmt.Sprintf("%s: cut off at byte %d", d.file, d.offset)
	}
	return fmt.Sprintf("%s: byte %d", d.file, d.offset)
}

func (d damage) do(t *testing.T, path string) {
	t.Helper()
	b, err := os.ReadFile(path)
	switch {
	case os.IsNotExist(err): // all units have the same one, and it was removed
		return
	case err != nil:
	case d.offset < 0:
		err = os.Remove(path)
	case d.offset >= len(b): // another unit's is longer
	case d.cut:
		err = os.Truncate(path, int64(d.offset))
	default:
		b[d.offset] ^= 1 << (d.offset % 8)
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// herd is how many units are damaged at once, each in another way.
const herd = 12

// TestADamagedFileOfAUnitLeadsToNoSecondInstall flips or cuts off bytes of each
// file that an agent keeps of a unit: the unit goes on, and runs what it would
// have run, or is refused with the file and the reason in its status, while the
// units beside it go on. By default a sample of the bytes is damaged.
func TestADamagedFileOfAUnitLeadsToNoSecondInstall(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.noRetries()
	w.deploy("app", w.charm("name: app\nsummary: s\n", tallyingCharm), herd)
	w.settle()
	w.stop()
	kept := t.TempDir()
	w.closeAndCopy(kept)
	damages := w.damages()
	t.Logf("%d damages", len(damages))
	for len(damages) > 0 {
		n := min(len(damages), herd)
		tryDamages(t, kept, damages[:n])
		damages = damages[n:]
	}
}

// damages are those to try.
func (w *world) damages() []damage {
	w.t.Helper()
	var all []damage
	for file, f := range stateFiles {
		b, err := os.ReadFile(f.path(w, "app/0"))
		if os.IsNotExist(err) && file == "journal-1" {
			continue // it is made when it is needed
		}
		if err != nil {
			w.t.Fatal(err)
		}
		all = append(all, damage{file: file, offset: -1}, damage{file: file, cut: true})
		// Of the room that a journal has at its end one byte is as good as another.
		b = b[:min(len(b), len(bytes.TrimRight(b, "\x00"))+8)]
		every := 1 + len(b)/5
		switch {
		case os.Getenv("UNITD_TEST_LONG") == "":
		case strings.HasPrefix(file, "the log"), strings.HasPrefix(file, "a rec"), strings.HasPrefix(file, "the history"):
			every = 1 + len(b)/200 // nothing is decided by them
		default:
			every = 1
		}
		for i := rand.IntN(every); i < len(b); i += every {
			all = append(all, damage{file: file, offset: i}, damage{file: file, offset: i, cut: true})
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// tryDamages damages one unit of the kept world each, starts an agent, changes
// something of which config-changed tells, and looks at what has run.
func tryDamages(t *testing.T, kept string, damages []damage) {
	t.Helper()
	dir := t.TempDir()
	defer os.RemoveAll(dir) // there are many
	copyDir(t, kept, dir)
	w := openWorld(t, dir)
	w.configure = func(c *machine.Config) { c.Log = quiet() }
	for i, d := range damages {
		d.do(t, stateFiles[d.file].path(w, unitNumber(i)))
	}
	w.restart()
	if err := w.model.SetTrust(w.ctx, "app", true); err != nil {
		t.Fatal(err)
	}
	var last *state.FullStatus // an agent that has ended is lost
	w.until("all go on, or are refused", func(s *state.FullStatus) bool {
		last = s
		for _, u := range s.Applications[0].Units {
			tally := w.tally(u.Name)
			// An agent that is in trouble for a moment is failed, too.
			refused := u.Agent.Status == model.StatusFailed && strings.Contains(u.Agent.Message, "journal")
			if !refused && (tally["config-changed"] < 2 || u.Agent.Status != model.StatusIdle) {
				return false
			}
		}
		return true
	})
	w.stop()
	for i, u := range last.Applications[0].Units {
		d := damage{file: "nothing"}
		if i < len(damages) {
			d = damages[i]
		}
		w.checkDamaged(d, u)
	}
	if err := w.controller.Store().Close(); err != nil {
		t.Error(err)
	}
}

// checkDamaged looks at what a unit has run that was damaged.
func (w *world) checkDamaged(d damage, u state.UnitView) {
	w.t.Helper()
	file := stateFiles[d.file]
	tally := w.tally(u.Name)
	if u.Agent.Status == model.StatusFailed {
		m := u.Agent.Message
		if !strings.HasPrefix(d.file, "journal") || !strings.Contains(m, d.file) || strings.Contains(m, "\n") || tally["config-changed"] != 1 {
			w.t.Errorf("%v: refused by %q, after %v", d, m, tally)
		}
		return
	}
	for hook, n := range tally {
		want := 1 + file.runs[hook]
		switch {
		case hook == "config-changed":
			want = 2
		case hook == "upgrade-charm":
			want = file.runs[hook]
		}
		if n > want {
			w.t.Errorf("%v: %s ran %d times: %v", d, hook, n, tally)
		}
	}
	if tally["install"] != 1 || tally["start"] != 1 || tally["config-changed"] != 2 {
		w.t.Errorf("%v: ran %v; its agent is %v", d, tally, u.Agent)
	}
}

// tally says how often a unit of tallyingCharm has run each hook.
func (w *world) tally(unit model.UnitName) map[string]int {
	w.t.Helper()
	values, err := w.model.CharmState(w.ctx, unit)
	if err != nil {
		w.t.Fatal(err)
	}
	out := map[string]int{}
	for hook, n := range values {
		out[hook], _ = strconv.Atoi(n)
	}
	return out
}

func unitNumber(n int) model.UnitName { return model.NewUnitName("app", n) }
