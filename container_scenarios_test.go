package unitd_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const containerScenarios = "docs/container-scenarios.md"

var (
	kRow    = regexp.MustCompile(`(?m)^\| (K-\d{3}) \| ([^|\n]+) \| ?([^|\n]*?) ?\|[^|\n]*\|$`)
	kID     = regexp.MustCompile(`K-(\d{3})`)
	anyTest = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
	// kInName are the IDs that a Go test is named by: TestK033K034Restart.
	kInName = regexp.MustCompile(`^Test(?:Host|Real)?((?:K\d{3})+)(?:\D|$)`)
)

// TestEachScenarioOfContainersIsThereOnce compares docs/container-scenarios.md with
// the contract, which has the scenarios, and with the tests that it names.
func TestEachScenarioOfContainersIsThereOnce(t *testing.T) {
	t.Parallel()
	page, contract := read(t, containerScenarios), read(t, "docs/spec/containers.md")
	tests := testsAndScripts(t)
	rows, tested := map[string]bool{}, 0
	for _, row := range kRow.FindAllStringSubmatch(page, -1) {
		id, names := row[1], inRow(row[3])
		switch {
		case rows[id]:
			t.Errorf("%s has two rows", id)
		case !strings.Contains(contract, "| "+id+" |"):
			t.Errorf("%s: docs/spec/containers.md has no such scenario", id)
		}
		rows[id] = true
		for _, name := range names {
			test, _, _ := strings.Cut(name, "/")
			if _, ok := tests[test]; !ok {
				t.Errorf("%s: there is no test %s", id, name)
			}
		}
		if len(names) > 0 {
			tested++
		}
		for name, ids := range tests {
			if slices.Contains(ids, id) && !slices.Contains(names, name) {
				t.Errorf("%s: its row doesn't name `%s`", id, name)
			}
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\| (K-\d{3}) \|`).FindAllStringSubmatch(contract, -1) {
		if !rows[row[1]] {
			t.Errorf("%s is in no row of %s, or its row can't be read", row[1], containerScenarios)
		}
	}
	want := fmt.Sprintf("%d of %d have a test, %d have none yet.", tested, len(rows), len(rows)-tested)
	if got := strings.SplitN(page, "\n", 4); len(got) < 4 || got[2] != want {
		t.Errorf("the first line of %s must say: %s", containerScenarios, want)
	}
}

// TestEachTestThatIsNamedByAScenarioOfContainersNamesOneThatIsThere: a name with a
// number that no row has would be counted for nothing.
func TestEachTestThatIsNamedByAScenarioOfContainersNamesOneThatIsThere(t *testing.T) {
	t.Parallel()
	contract, tests := read(t, "docs/spec/containers.md"), testsAndScripts(t)
	for _, name := range slices.Sorted(maps.Keys(tests)) {
		for _, id := range tests[name] {
			if !strings.Contains(contract, "| "+id+" |") {
				t.Errorf("%s is named by %s, which docs/spec/containers.md doesn't have", name, id)
			}
		}
	}
}

// inRow are the names of tests in a row's third column.
func inRow(column string) []string {
	var names []string
	for name := range strings.SplitSeq(column, ",") {
		if name = strings.Trim(name, " `"); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// testsAndScripts are the names of all Go tests, and of all scripts, each with the
// IDs of scenarios of containers that it is named by.
func testsAndScripts(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(base, "."):
			return fs.SkipDir
		case d.IsDir():
		case path.Ext(base) == ".txtar":
			found[base] = idsIn(kID, base)
		case strings.HasSuffix(base, "_test.go"):
			for _, m := range anyTest.FindAllStringSubmatch(read(t, name), -1) {
				found[m[1]] = nil
				if named := kInName.FindStringSubmatch(m[1]); named != nil {
					found[m[1]] = idsIn(regexp.MustCompile(`K(\d{3})`), named[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// idsIn are the IDs whose numbers the expression finds.
func idsIn(number *regexp.Regexp, name string) []string {
	var ids []string
	for _, m := range number.FindAllStringSubmatch(name, -1) {
		ids = append(ids, "K-"+m[1])
	}
	return ids
}
