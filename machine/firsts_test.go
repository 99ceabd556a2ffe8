package machine_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// first is the first process of a cell, as its record has it.
type first struct {
	Pid   int
	Began string
	Net   struct{ Gateway string }
	Group string

	container bool
}

// firstsIn are those of the cells of the agent in a directory.
func firstsIn(dir string) (all []first) {
	records, _ := filepath.Glob(filepath.Join(dir, "cells", "*", "*", "cell.json"))
	for _, path := range records {
		b, err := os.ReadFile(path)
		f := first{container: strings.Contains(path, "+")}
		if err == nil && json.Unmarshal(b, &f) == nil && f.Pid > 0 {
			all = append(all, f)
		}
	}
	return all
}

// runs says whether it is there, and no later one that has its number.
func (f first) runs() bool {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(f.Pid) + "/stat")
	if err != nil {
		return false
	}
	words := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	return len(words) > 19 && words[19] == f.Began && words[0] != "Z"
}

// killFirsts kills those that v says.
func killFirsts(dir string, v victim) {
	for _, f := range firstsIn(dir) {
		if f.runs() && (v == alls || f.container == (v == pebbles)) {
			_ = syscall.Kill(f.Pid, syscall.SIGKILL) // it may have just ended
		}
	}
}
