package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// run runs a hook tool for what it does.
func run(tool string, args ...string) error {
	_, err := output(tool, args...)
	return err
}

// get runs a hook tool for what it prints. Asked for JSON, tools print values
// with their types, and null for what isn't there.
func get(to any, tool string, args ...string) error {
	out, err := output(tool, append([]string{"--format=json"}, args...)...)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(out, to); err != nil {
		return fmt.Errorf("%s: %w", tool, err)
	}
	return nil
}

// output runs a hook tool, which the agent has put on PATH, and returns what it
// prints. The tool's own words on an error become the error.
func output(tool string, args ...string) ([]byte, error) {
	cmd := exec.Command(tool, args...)
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", tool, strings.TrimSpace(said.String()), err)
	}
	return out, nil
}
