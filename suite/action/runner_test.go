package action_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// metadata is what a runner reads in action.yml.
type metadata struct {
	Inputs  map[string]struct{ Description, Default string }
	Outputs map[string]struct{ Value string }
	Runs    struct{ Steps []step }
}

// step is one step of an action.
type step struct {
	Name, ID, If, Shell, Run, Uses string
	Dir                            string `yaml:"working-directory"`
	Env, With                      map[string]string
}

// readAction reads the action in a directory.
func readAction(t *testing.T, dir string) metadata {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "action.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var m metadata
	if err := yaml.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// job runs the action as a runner does: one step after the other, with what the step
// before has said. What steps use of others' is stood in for, in stands.
type job struct {
	t         *testing.T
	action    string // the directory of the action
	workspace string
	home      string
	ref       string
	env       []string
	with      map[string]string
	hub       *hub

	temp    string
	paths   []string          // GITHUB_PATH, the last first
	said    map[string]string // GITHUB_ENV
	steps   map[string]any
	failed  bool
	log     bytes.Buffer
	ran     []string // the names of the steps that were run
	outputs map[string]string
}

// run runs all steps. Whether one has failed is in failed.
func (j *job) run() {
	j.t.Helper()
	m := readAction(j.t, j.action)
	for name := range j.with {
		if _, ok := m.Inputs[name]; !ok {
			j.t.Fatalf("the action has no input %s", name)
		}
	}
	j.temp, j.said, j.steps, j.outputs = j.t.TempDir(), map[string]string{}, map[string]any{}, map[string]string{}
	for i, s := range m.Runs.Steps {
		must(j.t, j.step(m, i, s))
	}
	for name, output := range m.Outputs {
		value, err := j.contexts(m).expand(output.Value)
		must(j.t, err)
		j.outputs[name] = value
	}
}

// contexts are what expressions see now.
func (j *job) contexts(m metadata) contexts {
	inputs := map[string]any{}
	for name, input := range m.Inputs {
		inputs[name] = input.Default
		if value, ok := j.with[name]; ok {
			inputs[name] = value
		}
	}
	return contexts{
		"inputs": inputs, "steps": j.steps, "failed": j.failed,
		"runner": map[string]any{"os": "Linux", "arch": "X64"},
		"github": map[string]any{"action_path": j.action, "action_ref": j.ref},
	}
}

// step runs a step, if its condition holds. An error is one of the test itself.
func (j *job) step(m metadata, number int, s step) error {
	c := j.contexts(m)
	result := map[string]any{"outcome": "skipped"}
	if s.ID != "" {
		j.steps[s.ID] = result
	}
	holds, err := c.holds(s.If)
	if err != nil || !holds {
		return err
	}
	for _, text := range []*string{&s.Run, &s.Dir} {
		if *text, err = c.expand(*text); err != nil {
			return err
		}
	}
	for _, values := range []map[string]string{s.Env, s.With} {
		for name, value := range values {
			if values[name], err = c.expand(value); err != nil {
				return err
			}
		}
	}
	fmt.Fprintf(&j.log, "== %s\n", s.Name)
	j.ran = append(j.ran, s.Name)
	var outputs map[string]string
	var failed error
	if s.Uses != "" {
		action, _, _ := strings.Cut(s.Uses, "@")
		stand, ok := stands[action]
		if !ok {
			return fmt.Errorf("nothing stands in for %s", s.Uses)
		}
		outputs, failed = stand(j.hub, s.With)
	} else if outputs, failed, err = j.shell(number, s); err != nil {
		return err
	}
	result["outcome"] = "success"
	if failed != nil {
		fmt.Fprintf(&j.log, "%s: %v\n", s.Name, failed)
		result["outcome"], j.failed = "failure", true
	}
	values := map[string]any{}
	for name, value := range outputs {
		values[name] = value
	}
	result["outputs"] = values
	return nil
}

// shell runs what a step says to bash, with the environment and the files that a
// runner gives it, and reads what it has put there.
func (j *job) shell(number int, s step) (outputs map[string]string, failed, err error) {
	if s.Shell != "bash" {
		return nil, nil, fmt.Errorf("%s: the shell is %q", s.Name, s.Shell)
	}
	file := func(name string) string { return filepath.Join(j.temp, fmt.Sprintf("%s-%d", name, number)) }
	for _, name := range []string{"output", "env", "path"} {
		if err := os.WriteFile(file(name), nil, 0o600); err != nil {
			return nil, nil, err
		}
	}
	if err := os.WriteFile(file("script"), []byte(s.Run), 0o600); err != nil {
		return nil, nil, err
	}
	cmd := exec.Command("bash", "--noprofile", "--norc", "-eo", "pipefail", file("script"))
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(j.workspace, s.Dir), &j.log, &j.log
	cmd.Env = append(slices.Clone(j.env),
		"CI=true", "GITHUB_ACTIONS=true", "GITHUB_ACTION_PATH="+j.action, "GITHUB_WORKSPACE="+j.workspace, "RUNNER_TEMP="+j.temp,
		"RUNNER_OS=Linux", "RUNNER_ARCH=X64", "GITHUB_OUTPUT="+file("output"), "GITHUB_ENV="+file("env"), "GITHUB_PATH="+file("path"),
		"HOME="+j.home, "PATH="+strings.Join(append(slices.Clone(j.paths), os.Getenv("PATH")), string(os.PathListSeparator)))
	for _, values := range []map[string]string{j.said, s.Env} {
		for _, name := range slices.Sorted(maps.Keys(values)) {
			cmd.Env = append(cmd.Env, name+"="+values[name])
		}
	}
	failed = cmd.Run()
	said, err := assignments(file("env"))
	if err != nil {
		return nil, nil, err
	}
	maps.Copy(j.said, said)
	added, err := os.ReadFile(file("path"))
	if err != nil {
		return nil, nil, err
	}
	for _, dir := range strings.Fields(string(added)) {
		j.paths = slices.Insert(j.paths, 0, dir)
	}
	outputs, err = assignments(file("output"))
	return outputs, failed, err
}

// assignments are the lines NAME=VALUE of a file. A runner wants no others of steps
// that don't say where a value of several lines ends.
func assignments(path string) (map[string]string, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(b)) {
		name, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if !ok {
			return nil, fmt.Errorf("%s has the line %q", filepath.Base(path), line)
		}
		values[name] = value
	}
	return values, nil
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
