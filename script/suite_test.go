package script_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/script"
)

// TestAFailureTellsHowItCameToIt: the line, the units' hooks, what was logged,
// and how to run the script again.
func TestAFailureTellsHowItCameToIt(t *testing.T) {
	t.Parallel()
	outcomes := suite(t, map[string]string{"breaks": `# a claim
model-config automatically-retry-hooks=false
deploy ./app
settle
-- app/metadata.yaml --
name: app
-- app/hooks/start --
#!/bin/sh
juju-log "looking for the wheel"
echo "no wheel was found" >&2
exit 4
`}, nil)
	if len(outcomes) != 1 || outcomes[0].Outcome != script.Failed {
		t.Fatalf("outcomes: %+v", outcomes)
	}
	for _, want := range []string{
		`breaks.txtar:4: app/0: hook failed: "start" (exit status 4`,
		`app/0 (error hook failed: "start"; idle )`,
		`(?m)^ +0s  install +-$`,
		`(?m)^ +0s  start +failed, exit 4: exit status 4`,
		`INFO looking for the wheel`,
		`WARNING no wheel was found`,
		`run it alone: unitd test -v ` + outcomes[0].File,
		`> deploy ./app`,
	} {
		pattern := want
		if !strings.HasPrefix(want, "(?m)") {
			pattern = regexp.QuoteMeta(want)
		}
		if !regexp.MustCompile(pattern).MatchString(outcomes[0].Output) {
			t.Errorf("the report hasn't %q:\n%s", want, outcomes[0].Output)
		}
	}
}

// TestOnlyMatchingScriptsRun, and it is an error if there are none.
func TestOnlyMatchingScriptsRun(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"one": "stop\n", "two": "stop\n", "other": "skip 'not today'\n", "bad": "settle now\n"}
	var out bytes.Buffer
	outcomes := suite(t, scripts, func(s *script.Suite) { s.Match, s.Out = regexp.MustCompile("^o"), &out })
	got := map[string]string{}
	for _, o := range outcomes {
		got[o.Name] = o.Outcome
	}
	if len(got) != 2 || got["one"] != script.Passed || got["other"] != script.Skipped {
		t.Errorf("outcomes: %v", got)
	}
	if !strings.Contains(out.String(), "pass  one") || !strings.Contains(out.String(), "not today") {
		t.Errorf("printed:\n%s", out.String())
	}
	s := &script.Suite{Match: regexp.MustCompile("none"), Out: io.Discard}
	s.Files = []string{"one.txtar"}
	if _, err := s.Run(t.Context()); !errors.Is(err, errors.NotFound) {
		t.Errorf("without a match: %v", err)
	}
}

// TestNoMoreScriptsRunAtOnceThanMay: each has a line in a file while it runs.
func TestNoMoreScriptsRunAtOnceThanMay(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	text := "exec sh -c 'echo in >> " + dir + "/log'\nsettle\nexec sh -c 'echo out >> " + dir + "/log'\n"
	suite(t, map[string]string{"a": text, "b": text, "c": text}, func(s *script.Suite) { s.Parallel = 1 })
	b, err := os.ReadFile(filepath.Join(dir, "log"))
	if err != nil || string(b) != strings.Repeat("in\nout\n", 3) {
		t.Errorf("they ran as %q, %v", b, err)
	}
}

// TestOutcomesAreReadByMachines as JSON and as JUnit XML.
func TestOutcomesAreReadByMachines(t *testing.T) {
	t.Parallel()
	scripts := map[string]string{"good": "stop\n", "bad": "settle now\n", "odd": "skip 'not & today'\n"}
	var out bytes.Buffer
	outcomes := suite(t, scripts, func(s *script.Suite) { s.JSON, s.Out = true, &out })
	var read []script.Outcome
	for d := json.NewDecoder(&out); ; {
		var o script.Outcome
		if err := d.Decode(&o); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		read = append(read, o)
	}
	if !slices.Equal(read, outcomes) || len(read) != 3 {
		t.Errorf("printed %+v, returned %+v", read, outcomes)
	}
	path := filepath.Join(t.TempDir(), "report.xml")
	if err := script.WriteJUnit(path, outcomes); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var junit struct {
		Tests    int `xml:"tests,attr"`
		Failures int `xml:"failures,attr"`
		Skipped  int `xml:"skipped,attr"`
		Cases    []struct {
			Name    string  `xml:"name,attr"`
			Failure *string `xml:"failure"`
		} `xml:"testcase"`
	}
	if err := xml.Unmarshal(b, &junit); err != nil {
		t.Fatalf("%v:\n%s", err, b)
	}
	if junit.Tests != 3 || junit.Failures != 1 || junit.Skipped != 1 {
		t.Errorf("report:\n%s", b)
	}
	for _, c := range junit.Cases {
		if (c.Failure != nil) != (c.Name == "bad") || c.Failure != nil && !strings.Contains(*c.Failure, "is not a number of hooks") {
			t.Errorf("%s: failure %v", c.Name, c.Failure)
		}
	}
}
