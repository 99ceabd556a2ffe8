package runner

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// Running are the names of the programs of this user whose environment has all
// of vars ("NAME=value"), in the order in which they were started: what a
// program that runs is doing.
func Running(vars ...string) []string {
	var names []string
	for _, pid := range withEnviron(vars) {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if program, _, _ := bytes.Cut(line, []byte{0}); err == nil && len(program) > 0 {
			names = append(names, filepath.Base(string(program)))
		}
	}
	return names
}
