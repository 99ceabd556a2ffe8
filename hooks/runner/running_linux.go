package runner

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strconv"
)

// Running are the names of the programs of this user whose environment has all
// of vars ("NAME=value"), in the order in which they were started: what a
// program that runs is doing.
func Running(vars ...string) []string {
	var names []string
	all := processes()
	slices.SortFunc(all, func(a, b process) int { return cmp.Compare(a.pid, b.pid) })
	for _, p := range all {
		if !hasMarks(p.pid, vars) {
			continue
		}
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "cmdline"))
		if program, _, _ := bytes.Cut(line, []byte{0}); err == nil && len(program) > 0 {
			names = append(names, filepath.Base(string(program)))
		}
	}
	return names
}
