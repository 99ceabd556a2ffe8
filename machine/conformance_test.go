package machine_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

// observation is one run of one of the original's tools, with exact bytes.
// Source: tools/testdata/observed.jsonl.
type observation struct {
	Seq     int      `json:"seq"`
	Context string   `json:"context"`
	Argv    []string `json:"argv"`
	Stdin   string   `json:"stdin"`
	Code    int      `json:"rc"`
	Stdout  string   `json:"stdout"`
	Stderr  string   `json:"stderr"`
}

// observations are those of the original, in their order.
func observations(t *testing.T) []observation {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "tools", "testdata", "observed.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	var all []observation
	lines := bufio.NewScanner(bytes.NewReader(b))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var o observation
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		all = append(all, o)
	}
	if len(all) < 300 {
		t.Fatalf("only %d observations were read", len(all))
	}
	return all
}

// place is the context in which a run is made again. A recording's context may
// be a hook and an action at once, as none is here: what is about the action is
// replayed in an action.
func (o observation) place() string {
	action := strings.HasPrefix(o.Argv[0], "action-") || o.Argv[0] == "juju-reboot"
	switch {
	case o.Context == "plain":
		return "config-changed"
	case o.Context == "empty+action":
		return "nothing"
	case action:
		return "act"
	}
	return "db-relation-changed"
}

// TestToolsAnswerAsTheOriginalDid replays every recorded call of the original by
// each client that there is, in the hooks and actions of a real agent whose
// model has the data of docs/spec/hook-tools.md §10.
func TestToolsAnswerAsTheOriginalDid(t *testing.T) {
	t.Parallel()
	for name, path := range clients(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newPlayhouse(t, path).play(observations(t))
		})
	}
}

// clients are the hook tool clients that can be built here, by language.
func clients(t *testing.T) map[string]string {
	t.Helper()
	path, err := testcharms.Client()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{"Go": path}
	if path, ok := cClient(t); ok {
		all["C"] = path
	}
	return all
}

// cClient is the client in C, where there is a compiler for it.
func cClient(t *testing.T) (string, bool) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooktool")
	cmd := exec.Command("make", "-s", "-C", "..", "c-client", "C_CLIENT="+path)
	out, err := cmd.CombinedOutput()
	if _, there := os.Stat(path); there != nil {
		t.Logf("there is no client in C here: %v %s", err, out)
		return "", false
	}
	return path, true
}

// play makes all runs again, and fails for each that differs.
func (s *playhouse) play(all []observation) {
	differ := deviations()
	for _, place := range []string{"config-changed", "db-relation-changed", "act", "nothing"} {
		env, release := s.hold(place)
		count := 0
		for _, o := range all {
			if o.place() != place {
				continue
			}
			count++
			s.before(o.Seq)
			got, want := s.replay(o, env), outcome{o.Code, o.Stdout, o.Stderr}
			d, differs := differ[o.Seq]
			if differs {
				want = d.outcome
			}
			delete(differ, o.Seq)
			if got = s.comparable(o, got, want); got != want {
				s.t.Errorf("%d in %s: %q <%q\n got %+v\nwant %+v", o.Seq, place, o.Argv, o.Stdin, got, want)
			}
			if differs && want == (outcome{o.Code, o.Stdout, o.Stderr}) {
				s.t.Errorf("%d is no deviation", o.Seq)
			}
		}
		if count == 0 {
			s.t.Errorf("nothing was replayed in %s", place)
		}
		release()
	}
	for seq := range differ {
		s.t.Errorf("there is a deviation from %d, which isn't there", seq)
	}
}

// outcome is what a process has done.
type outcome struct {
	code           int
	stdout, stderr string
}

// replay makes one run again, with a client of its own as a hook would.
func (s *playhouse) replay(o observation, env []string) outcome {
	cmd := exec.Command(s.client)
	for _, arg := range o.Argv {
		arg = strings.ReplaceAll(arg, recordedModel, s.model.UUID())
		cmd.Args = append(cmd.Args, strings.ReplaceAll(arg, recordedSecret, string(s.secret)))
	}
	cmd.Args = cmd.Args[1:] // the tool's name is that by which the client is called
	cmd.Env, cmd.Dir, cmd.Stdin = env, s.cwd, strings.NewReader(o.Stdin)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return outcome{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// What the recordings have where this model has chance, or its own directory.
const (
	recordedModel    = "5c35d46b-5c2c-4dc8-85ff-48c7a0f1c0d1"
	recordedSecret   = "9m4e2mr0ui3e8a215n4g"
	recordedStorage  = "/srv/data"
	recordedResource = "/var/lib/juju/agents/unit-app-0/resources/foo/f.tgz"
)

var newSecret = regexp.MustCompile(`^secret://[0-9a-f-]{36}/[0-9a-v]{20}\n$`) // with the model, which the recordings' stub left out

// comparable has the names of the recording in the place of those of this test:
// ids of secrets, which are chance, and the paths of this agent's directory.
func (s *playhouse) comparable(o observation, got, want outcome) outcome {
	if o.Argv[0] == "secret-add" && want.code == 0 && newSecret.MatchString(got.stdout) {
		got.stdout = want.stdout
	}
	replace := strings.NewReplacer(
		string(s.secret), recordedSecret,
		s.location, recordedStorage,
		filepath.Join(s.unitDir("app/0"), "resources", "foo", "f.tgz"), recordedResource,
	)
	got.stdout, got.stderr = replace.Replace(got.stdout), replace.Replace(got.stderr)
	return got
}

// before is what happens in the model before a run: the recorded contexts said
// something else of one unit's status, depending on how they were asked.
func (s *playhouse) before(seq int) {
	if seq == 155 {
		// The hook has asked for it, and has the answer for all its time; what is
		// asked for the application is live.
		s.setStatus("ok")
	}
}

// TestEachDeviationIsDocumented in the table of docs/hook-tools.md.
func TestEachDeviationIsDocumented(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "docs", "hook-tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	byWhy := map[string][]string{}
	all := deviations()
	for _, o := range observations(t) {
		if d, ok := all[o.Seq]; ok {
			byWhy[d.why] = append(byWhy[d.why], "`"+strings.Join(o.Argv, " ")+"`")
		}
	}
	var rows []string
	for why, runs := range byWhy {
		rows = append(rows, fmt.Sprintf("| %s | %s |\n", strings.Join(runs, ", "), why))
	}
	slices.Sort(rows)
	if want := strings.Join(rows, ""); !strings.Contains(string(b), want) {
		t.Errorf("docs/hook-tools.md should have these rows:\n%s", want)
	}
}
