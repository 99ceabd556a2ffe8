package unitd_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// byName, in the table of scenarios, says that there is a test of that name.
const byName = "by name"

var (
	scenarioRow    = regexp.MustCompile(`(?m)^\| (U-[A-Z]+-\d+) \| (.+) \| (.+) \|$`)
	scenarioScript = regexp.MustCompile(`^(U-[A-Z]+-\d+)-[\w-]+\.txtar$`)
	scenarioTest   = regexp.MustCompile(`(?m)^func TestU([A-Z]+)(\d+)([A-Z]\w*)\(t \*testing\.T\)`)
)

// TestEachScenarioHasATest compares docs/scenarios.md with the tests that are
// named by the IDs in it, and says all that is amiss at once.
func TestEachScenarioHasATest(t *testing.T) {
	t.Parallel()
	tests := scenarioTests(t)
	rows := map[string]bool{}
	for _, row := range scenarioRow.FindAllStringSubmatch(read(t, "docs/scenarios.md"), -1) {
		id, test := row[1], row[3]
		there := tests[id]
		switch {
		case rows[id]:
			t.Errorf("%s has two rows", id)
		case test == byName && len(there) == 0:
			t.Errorf("%s (%s) has no test", id, row[2])
		case test != byName && len(there) > 0:
			t.Errorf("%s: the table says %q, and there is %s", id, test, strings.Join(there, ", "))
		case len(there) > 1:
			t.Errorf("%s has several tests: %s", id, strings.Join(there, ", "))
		}
		rows[id] = true
	}
	if len(rows) == 0 {
		t.Fatal("docs/scenarios.md has no table")
	}
	for _, id := range slices.Sorted(maps.Keys(tests)) {
		if !rows[id] {
			t.Errorf("%s is in no row of docs/scenarios.md: %s", id, strings.Join(tests[id], ", "))
		}
	}
}

// scenarioTests are the scripts and Go tests that are named by the ID of a
// scenario, by ID.
func scenarioTests(t *testing.T) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		base := path.Base(name)
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && strings.HasPrefix(base, "."):
			return fs.SkipDir
		case scenarioScript.MatchString(base) && path.Base(path.Dir(name)) == "script":
			id := scenarioScript.FindStringSubmatch(base)[1]
			found[id] = append(found[id], name)
		case !d.IsDir() && strings.HasSuffix(base, "_test.go"):
			for _, m := range scenarioTest.FindAllStringSubmatch(read(t, name), -1) {
				id := "U-" + m[1] + "-" + m[2]
				found[id] = append(found[id], name+": TestU"+m[1]+m[2]+m[3])
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
