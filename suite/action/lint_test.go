package action_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/starter"
)

// here is the root of the repository.
const here = "../.."

// faults are what actionlint finds in a workflow. That of another repository uses this
// action by its name; it is looked at as if it used this one here, so that its inputs
// are checked.
func faults(t *testing.T, text string) string {
	t.Helper()
	root, err := filepath.Abs(here)
	must(t, err)
	project, err := actionlint.NewProject(root)
	must(t, err)
	var out bytes.Buffer
	linter, err := actionlint.NewLinter(&out, &actionlint.LinterOptions{Oneline: true, WorkingDir: root})
	must(t, err)
	text = regexp.MustCompile(`uses: unitd/unitd@\S+`).ReplaceAllString(text, "uses: ./")
	_, err = linter.Lint(filepath.Join(root, ".github", "workflows", "looked-at.yaml"), []byte(text), project)
	must(t, err)
	return out.String()
}

// TestActionlintFindsNothingInTheWorkflows: those of this repository, the one that
// "unitd init" writes, and those that the documents show.
func TestActionlintFindsNothingInTheWorkflows(t *testing.T) {
	t.Parallel()
	texts := map[string]string{}
	own, err := filepath.Glob(filepath.Join(here, ".github", "workflows", "*.yaml"))
	if err != nil || len(own) == 0 {
		t.Fatalf("there are no workflows: %v", err)
	}
	for _, path := range own {
		texts[path] = read(t, path)
	}
	for _, version := range []string{"", "1.2.0"} {
		for _, file := range starter.Files(model.Charm{Name: "app"}, version) {
			if strings.HasPrefix(file.Path, ".github/") {
				texts["init "+version] = file.Text
			}
		}
	}
	for _, page := range []string{"github-action.md", "testing-charms.md"} {
		for _, m := range regexp.MustCompile("(?s)```yaml\n(name: .*?)```").FindAllStringSubmatch(read(t, filepath.Join(here, "docs", page)), -1) {
			if strings.Contains(m[1], "\njobs:") {
				texts[page] = m[1]
			}
		}
	}
	if len(texts) < 5 {
		t.Errorf("only %d workflows were found", len(texts))
	}
	for name, text := range texts {
		if found := faults(t, text); found != "" {
			t.Errorf("%s:\n%s", name, found)
		}
	}
	for text, want := range map[string]string{
		"uses: ./\n        with: {scenario: tests}":                                         `input "scenario" is not defined in action "unitd"`,
		"uses: ./\n        id: unitd\n      - run: echo ${{ steps.unitd.outputs.versoin }}": `property "versoin" is not defined`,
	} {
		if found := faults(t, "on: push\njobs:\n  tests:\n    runs-on: ubuntu-24.04\n    steps:\n      - "+text+"\n"); !strings.Contains(found, want) {
			t.Errorf("in %s it finds %s, want %s", text, found, want)
		}
	}
}

// TestActionlintFindsNothingInTheAction, whose steps it sees as those of a workflow that
// is called with the same inputs.
func TestActionlintFindsNothingInTheAction(t *testing.T) {
	t.Parallel()
	text := read(t, filepath.Join(here, "action.yml"))
	if found := faults(t, called(t, text)); found != "" {
		t.Error(found)
	}
	for _, c := range []struct{ right, wrong, want string }{
		{"inputs.packages", "inputs.pakages", `property "pakages" is not defined`},
		{"steps.plan.outputs.wheels", "steps.paln.outputs.wheels", `property "paln" is not defined`},
		{"steps.install.outputs.wheel", "steps.paln.outputs.wheel", `property "paln" is not defined`},
		{"upload-artifact@v7", "upload-artifact@v2", `the runner of "actions/upload-artifact@v2" action is too old`},
		{"go-version-file:", "go-versoin-file:", `input "go-versoin-file" is not defined`},
		{"working-directory: ${{", "working-dir: ${{", `unexpected key "working-dir"`},
	} {
		if found := faults(t, called(t, strings.Replace(text, c.right, c.wrong, 1))); !strings.Contains(found, c.want) {
			t.Errorf("with %s it finds %q, want %s", c.wrong, found, c.want)
		}
	}
	m := readAction(t, here)
	for name, input := range m.Inputs {
		if input.Description == "" || !strings.Contains(text, "inputs."+name) {
			t.Errorf("the input %s isn't described, or nothing looks at it", name)
		}
		if !strings.Contains(read(t, filepath.Join(here, "docs", "github-action.md")), "| `"+name+"` |") {
			t.Errorf("docs/github-action.md has no row for the input %s", name)
		}
	}
}

// TestEachScriptIsAStepsAndIsBash: what no step runs is no part of the action.
func TestEachScriptIsAStepsAndIsBash(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("*.sh")
	if err != nil || len(scripts) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	steps := read(t, filepath.Join(here, "action.yml"))
	for _, script := range scripts {
		if out, err := exec.Command("bash", "-n", script).CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", script, err, out)
		}
		if script != "common.sh" && strings.Count(steps, `bash "$GITHUB_ACTION_PATH/suite/action/`+script+`"`) != 1 {
			t.Errorf("%s isn't run by one step", script)
		}
	}
}

// called is the action as a workflow that others call.
func called(t *testing.T, text string) string {
	t.Helper()
	var m struct {
		Inputs  map[string]map[string]any
		Outputs map[string]map[string]any
		Runs    struct{ Steps []map[string]any }
	}
	must(t, yaml.Unmarshal([]byte(text), &m))
	outputs := map[string]any{}
	for name, output := range m.Outputs {
		outputs[name] = output["value"]
	}
	for _, input := range m.Inputs {
		input["type"] = "string"
	}
	b, err := yaml.Marshal(map[string]any{
		"on":   map[string]any{"workflow_call": map[string]any{"inputs": m.Inputs}},
		"jobs": map[string]any{"steps": map[string]any{"runs-on": "ubuntu-24.04", "outputs": outputs, "steps": m.Runs.Steps}},
	})
	must(t, err)
	return string(b)
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}
