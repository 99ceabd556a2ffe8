package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/check"
)

// TestAReportIsWrittenInAllItsForms, also beside JSON; what the baseline has isn't new in any.
func TestAReportIsWrittenInAllItsForms(t *testing.T) {
	t.Parallel()
	finding := func(cause string) check.Finding {
		return check.Finding{Promise: check.Killed, What: "install: " + cause, Cause: cause, Steps: []string{"settle"}, Failed: 4, Tried: 4}
	}
	report := &check.Report{Charm: "shop", Tried: map[string]int{check.Killed: 3}, Findings: []check.Finding{finding("first"), finding("second")}}
	for _, c := range []struct {
		name     string
		baseline []check.Finding // nil: none
		want     error
		badge    string
		noted    string
	}{
		{"all are new", nil, Exit(Failed), "2 findings", ""},
		{"one is new", report.Findings[:1], Exit(Failed), "1 new finding, 1 known", "findings that are in the baseline: 1\n"},
		{"none is new", report.Findings, nil, "2 known findings", "findings that are in the baseline: 2\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			in := func(name string) string { return filepath.Join(dir, name) }
			f := checkFlags{json: true, junit: in("junit.xml"), sarif: in("check.sarif"), page: checkPageFlags{report: in("page.html"), badge: in("badge.svg")}}
			if c.baseline != nil {
				f.baseline = in("baseline.json")
				b, err := (&check.Report{Findings: c.baseline}).JSON()
				if err == nil {
					err = os.WriteFile(f.baseline, b, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			var out, noted bytes.Buffer
			a := testVerbs{newProgram(t.Context(), "unitd", Streams{Out: &out, Err: &noted}).deploying}
			if err := a.reported(report, dir, former{}, f); !errors.Is(err, c.want) {
				t.Errorf("it ends with %v, want %v", err, c.want)
			}
			var all check.Report
			if err := json.Unmarshal(out.Bytes(), &all); err != nil || len(all.Findings) != 2 {
				t.Errorf("as JSON it has %d findings: %v", len(all.Findings), err)
			}
			if noted.String() != c.noted {
				t.Errorf("it says %q, want %q", noted.String(), c.noted)
			}
			for path, want := range map[string]string{
				f.junit: "<testsuite ", f.sarif: `"2.1.0"`, f.page.badge: ">" + c.badge + "</text>", f.page.report: "<h3 id=\"finding-2-what\">2. install: ",
			} {
				if b, err := os.ReadFile(path); err != nil || !strings.Contains(string(b), want) {
					t.Errorf("%s has no %q: %v\n%.500s", filepath.Base(path), want, err, b)
				}
			}
		})
	}
}

// TestAReportThatCannotBeWrittenIsAnError, whatever it says.
func TestAReportThatCannotBeWrittenIsAnError(t *testing.T) {
	t.Parallel()
	nowhere := filepath.Join(t.TempDir(), "none", "file")
	var out bytes.Buffer
	a := testVerbs{newProgram(t.Context(), "unitd", Streams{Out: &out, Err: &out}).deploying}
	for name, f := range map[string]checkFlags{
		"the page":  {page: checkPageFlags{report: nowhere}},
		"the badge": {page: checkPageFlags{badge: nowhere}},
	} {
		if err := a.reported(&check.Report{Charm: "shop"}, ".", former{}, f); err == nil || !strings.HasPrefix(err.Error(), "cannot write the report: open "+nowhere) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := a.reported(&check.Report{}, ".", former{}, checkFlags{baseline: nowhere}); err == nil || !strings.HasPrefix(err.Error(), "cannot read the baseline: ") {
		t.Errorf("without its baseline: %v", err)
	}
}
