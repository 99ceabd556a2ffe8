package script

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
)

// foundCommands show what hooks have left, and what they have cost.
func foundCommands() []Cmd {
	return []Cmd{
		{Name: "files", Args: "UNIT", Summary: "list the files that an isolated unit has made or changed on its machine (+) or removed (-)", run: (*call).files},
		{Name: "search", Args: "TEXT | --secrets APPLICATION", Summary: "list where the charms' applications show a text: databags, statuses, their logs, and the logs and other files of isolated units; with --secrets, look for every value in the secrets that an application or its units own; each line then starts with the secret's label and the value's key", run: (*call).search},
		{Name: "processes", Args: "UNIT", Summary: "list the processes that the unit's hooks have left running", run: (*call).processes},
		{Name: "calls", Args: "[--at-most N] UNIT HOOK", Summary: "list how often the unit's newest run of a hook has called each hook tool; with --at-most, check that it has called hook tools at most N times in all", run: (*call).calls},
		{Name: "took", Args: "DURATION", Summary: "check that the last settle, advance or run-hooks took no longer than that, by the host's clock", run: keeping((*call).took)},
	}
}

// change of a file, as the layer has it of what a unit has changed.
type changedFile struct {
	path string // as the unit sees it
	host string // as this process does
	info fs.FileInfo
}

// removed says whether the file is one that the unit has removed: overlays note those as
// devices without a number.
func (f changedFile) removed() bool { return f.info.Mode()&fs.ModeDevice != 0 }

// changedFiles are the files that an isolated unit has changed on its machine, sorted; none for
// a unit that shares the host. Directories aren't told, nor what unitd has put there.
func (c *call) changedFiles(m *state.Model, unit model.UnitName) (all []changedFile, err error) {
	layers, err := isolate.Layers(filepath.Join(machine.NewCells(c.dir, "").Dir, machine.CellKey(m.UUID(), unit)))
	if err != nil {
		return nil, errors.Annotatef(err, "cannot read what %s has changed on its machine", unit)
	}
	for _, l := range layers {
		found := footprint.Look([]footprint.Root{{Dir: l.Dir, As: l.Path, Skip: isolate.OfUnitd}}, footprint.Limits{})
		if len(found.Unread) > 0 {
			return nil, errors.Errorf("cannot read what %s has changed on its machine in %s", unit, found.Unread[0])
		}
		for at := range found.Files {
			f := changedFile{path: at, host: filepath.Join(l.Dir, strings.TrimPrefix(at, l.Path))}
			if f.info, err = os.Lstat(f.host); os.IsNotExist(err) {
				continue
			} else if err != nil {
				return nil, errors.Trace(err)
			}
			all = append(all, f)
		}
	}
	slices.SortFunc(all, func(a, b changedFile) int { return cmp.Compare(a.path, b.path) })
	return all, nil
}

func (c *call) files() error {
	name, m, err := c.known()
	if err != nil {
		return err
	}
	c.printf("") // no file is nothing, not what the last command has
	all, err := c.changedFiles(m, name)
	for _, f := range all {
		sign := "+"
		if f.removed() {
			sign = "-"
		}
		c.printf("%s %s\n", sign, f.path)
	}
	return err
}

// passing are the places in which files come and go by themselves: they say nothing of what a
// charm has set up.
var passing = []string{"/var/log/", "/var/cache/", "/var/tmp/", "/tmp/", "/root/.cache/", "/var/lib/apt/", "/var/lib/dpkg/", "/var/lib/systemd/"}

// addFiles adds what isolated units have on their machines to a sight.
func (c *call) addFiles(m *state.Model, facts map[string]sighted) error {
	units, err := m.Units(c.ctx)
	if err != nil {
		return err
	}
	for _, u := range units {
		all, err := c.changedFiles(m, u.Name)
		if err != nil {
			return err
		}
		for _, f := range all {
			if strings.Contains(f.path, "/__pycache__/") || slices.ContainsFunc(passing, func(at string) bool { return strings.HasPrefix(f.path, at) }) {
				continue
			}
			text, err := f.digest()
			if err != nil {
				return errors.Trace(err)
			}
			facts[fmt.Sprintf("file %s %s", u.Name, f.path)] = sighted{sightFiles, text}
		}
	}
	return nil
}

// digest is short for what the file is.
func (f changedFile) digest() (string, error) {
	switch {
	case f.removed():
		return "removed", nil
	case f.info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(f.host)
		return "-> " + to, err
	case !f.info.Mode().IsRegular():
		return f.info.Mode().String(), nil
	}
	b, err := f.read()
	sum := sha256.Sum256(b)
	return fmt.Sprintf("%s, %d bytes, %s", f.info.Mode().Perm(), f.info.Size(), hex.EncodeToString(sum[:4])), err
}

// read reads the file, if it is still one: no more of it than may be searched. Whoever runs as
// the unit may put a link or a pipe in its place at any time.
func (f changedFile) read() ([]byte, error) {
	file, err := os.OpenFile(f.host, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if os.IsNotExist(err) || errors.Is(err, syscall.ELOOP) {
		return nil, nil
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer file.Close()
	if st, err := file.Stat(); err != nil || !os.SameFile(st, f.info) {
		return nil, errors.Trace(err)
	}
	return io.ReadAll(io.LimitReader(file, searched))
}

func (c *call) processes() error {
	name, m, err := c.known()
	if err != nil {
		return err
	}
	c.printf("") // no process is nothing, not what the last command has
	for _, p := range runner.Leftover("JUJU_MODEL_UUID="+m.UUID(), "JUJU_UNIT_NAME="+string(name)) {
		c.printf("%s\n", p)
	}
	return nil
}

// newestRun is the unit's newest run of the hook that the arguments name.
func (c *call) newestRun() (history.Entry, error) {
	name, m, err := c.known()
	if err != nil {
		return history.Entry{}, err
	}
	if err := c.knownHook(m, name, c.args[1]); err != nil {
		return history.Entry{}, err
	}
	runs, err := c.runs(m, name)
	if err != nil {
		return history.Entry{}, err
	}
	for _, run := range slices.Backward(runs) {
		if run.Name == c.args[1] {
			return run, nil
		}
	}
	return history.Entry{}, errors.Errorf("%s hasn't run %s", name, c.args[1])
}

func (c *call) calls() error {
	flags := flag.NewFlagSet("calls", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	most := flags.Int("at-most", math.MaxInt, "")
	if err := flags.Parse(c.args); err != nil || flags.NArg() != 2 || *most < 0 {
		return c.usagef("expected a unit and a hook")
	}
	c.args = flags.Args()
	run, err := c.newestRun()
	if err != nil {
		return err
	}
	number := map[string]int{}
	for _, call := range run.Calls {
		number[call.Tool]++
	}
	if more := run.Tools - len(run.Calls); more > 0 {
		number["more"] = more
	}
	c.printf("") // no call is nothing, not what the last command has
	for _, tool := range slices.Sorted(maps.Keys(number)) {
		c.printf("%s %s\n", tool, strconv.Itoa(number[tool]))
	}
	if run.Tools > *most {
		return errors.Errorf("%s of %s has called %d hook tools", run.Name, run.Unit, run.Tools)
	}
	return nil
}

func (c *call) took() error {
	if len(c.args) != 1 {
		return c.usagef("expected how long")
	}
	most, err := time.ParseDuration(c.args[0])
	if err != nil || most <= 0 {
		return c.usagef("%q is not a duration like 5s", c.args[0])
	}
	if c.change == nil {
		return errors.New("nothing was waited for yet: settle, advance and run-hooks take time")
	}
	if c.change.took > most {
		return errors.Errorf("it took %s", c.change.took.Round(10*time.Millisecond))
	}
	return nil
}
