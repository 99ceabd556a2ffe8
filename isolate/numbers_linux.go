package isolate

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// The ids of the host that the users of machines have, where root gives them: each
// machine that runs has a range that nobody else has. They are those that others who
// give containers ids leave to such as us.
// Source: docs/spec/machine-isolation.md §1.
const (
	firstNumber = 0x00080000
	lastNumber  = 0x6FFFFFFF
	numbersEach = 1 << 16
)

// numbersDir has a file for each range of ids that is given away, with the process that
// has it; it goes with a boot of the host.
const numbersDir = forwardDir + "/ids"

// takeNumbers takes a range of ids that is nobody's on this host, for this process, until
// they are kept for another one, or dropped.
func takeNumbers() (IDs, error) {
	unlock, err := lockHost()
	if err != nil {
		return IDs{}, errors.Trace(err)
	}
	defer unlock()
	if err := os.MkdirAll(numbersDir, 0o755); err != nil {
		return IDs{}, errors.Trace(err)
	}
	others := append(numbersOfOthers(), numbersOfProcesses()...)
	for first := firstNumber; first+numbersEach-1 <= lastNumber; first += numbersEach {
		if others.overlap(first) || isGiven(first) {
			continue
		}
		all := numbers(first)
		return IDs{UIDs: all, GIDs: all}, errors.Trace(keepNumber(first, identify(os.Getpid())))
	}
	return IDs{}, errors.New("all ids for units' machines are given away")
}

// numbers are the ids inside that a range of the host's is for: those from 0 on, of which
// the last is the user of rocks, who isn't among them.
func numbers(first int) []Range {
	return []Range{{Host: first, Size: numbersEach - 1}, {Inside: rockUser, Host: first + numbersEach - 1, Size: 1}}
}

// isGiven says whether a process that runs has the range. What one that has ended had is
// forgotten.
func isGiven(first int) bool {
	var p process
	path := numberPath(first)
	if err := readRecord(path, &p); err != nil || !p.runs() {
		_ = os.Remove(path)
		return false
	}
	return true
}

func numberPath(first int) string { return filepath.Join(numbersDir, strconv.Itoa(first)) }

func keepNumber(first int, p process) error {
	b, err := json.Marshal(p)
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(os.WriteFile(numberPath(first), b, 0o600))
}

// keepNumbers has the ids be a process's until it ends.
func keepNumbers(ids IDs, p process) error {
	if !ids.Many() {
		return nil
	}
	unlock, err := lockHost()
	if err != nil {
		return errors.Trace(err)
	}
	defer unlock()
	return errors.Trace(keepNumber(ids.UIDs[0].Host, p))
}

// dropNumbers gives the ids back, unless another process has them by now.
func dropNumbers(ids IDs, of process) {
	if !ids.Many() {
		return
	}
	unlock, err := lockHost()
	if err != nil {
		return // whoever wants them finds that the process has ended
	}
	defer unlock()
	var p process
	if path := numberPath(ids.UIDs[0].Host); readRecord(path, &p) == nil && (p == of || !p.runs()) {
		_ = os.Remove(path)
	}
	_ = os.Remove(numbersDir) // once there are no more
	_ = os.Remove(forwardDir)
}

// ranges are ids of the host, first and last.
type ranges [][2]int

// overlap says whether a machine's range has any of them.
func (r ranges) overlap(first int) bool {
	for _, o := range r {
		if o[0] <= first+numbersEach-1 && first <= o[1] {
			return true
		}
	}
	return false
}

// numbersOfOthers are the ids that the host's users and groups have, and the
// subordinate ones of users. What can't be read has none.
func numbersOfOthers() ranges {
	var all ranges
	for _, f := range []struct {
		path        string
		first, size int // columns
	}{{"/etc/subuid", 1, 2}, {"/etc/subgid", 1, 2}, {"/etc/passwd", 2, -1}, {"/etc/group", 2, -1}} {
		file, err := os.Open(f.path)
		if err != nil {
			continue
		}
		for lines := bufio.NewScanner(file); lines.Scan(); {
			columns := strings.Split(strings.TrimSpace(lines.Text()), ":")
			if len(columns) <= max(f.first, f.size) {
				continue
			}
			first, err := strconv.Atoi(columns[f.first])
			if err != nil {
				continue
			}
			size := 1
			if f.size >= 0 {
				if size, err = strconv.Atoi(columns[f.size]); err != nil || size < 1 {
					continue
				}
			}
			all = append(all, [2]int{first, first + size - 1})
		}
		file.Close()
	}
	return all
}

// numbersOfProcesses are the ids that name spaces of users have in which anybody runs: of
// containers that others have made, and of those that a machine which has ended has left.
func numbersOfProcesses() (all ranges) {
	paths, _ := filepath.Glob("/proc/[0-9]*/[ug]id_map")
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(b)) {
			columns := strings.Fields(line)
			if len(columns) != 3 {
				continue
			}
			first, err := strconv.Atoi(columns[1])
			size, bad := strconv.Atoi(columns[2])
			if err != nil || bad != nil || first == 0 && size > lastNumber { // all that there are
				continue
			}
			if r := [2]int{first, first + size - 1}; !slices.Contains(all, r) {
				all = append(all, r)
			}
		}
	}
	return all
}
