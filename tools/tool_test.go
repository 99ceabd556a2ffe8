package tools

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/tools/wire"
)

func TestEachToolHasAFileAndARow(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("*-*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files, rows []string
	for _, p := range paths {
		files = append(files, strings.TrimSuffix(p, ".go"))
	}
	for _, tool := range Table() {
		rows = append(rows, tool.Name)
		if tool.Summary == "" || tool.Details == "" {
			t.Errorf("%s has no help", tool.Name)
		}
		if !slices.Contains(files, tool.Name) {
			t.Errorf("%s is in the table and has no file", tool.Name)
		}
	}
	for _, f := range files {
		if !slices.Contains(rows, f) {
			t.Errorf("%s.go has a tool's name and is not in the table", f)
		}
	}
	slices.Sort(rows)
	if dup := len(rows) - len(slices.Compact(slices.Clone(rows))); dup > 0 {
		t.Errorf("%d rows have a name that another row has", dup)
	}
}

func TestHelpOfEachToolIsInTheShapeThatCharmsKnow(t *testing.T) {
	t.Parallel()
	for _, tool := range Table() {
		for _, flag := range []string{"--help", "-h", "--help=x"} {
			reply := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/", Args: []string{tool.Name, flag}})
			help := string(reply.Stdout)
			if reply.Code != 0 || len(reply.Stderr) > 0 || !strings.HasPrefix(help, "Usage: "+tool.Name) ||
				!strings.Contains(help, "\n\nSummary:\n"+tool.Summary+"\n") || !strings.HasSuffix(help, ".\n") {
				t.Errorf("%s %s: %d %q\n%s", tool.Name, flag, reply.Code, reply.Stderr, help)
			}
		}
	}
}

func TestHelpShowsTheDefaultsOfTheHook(t *testing.T) {
	t.Parallel()
	const details = "Prints one setting"
	plain := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/", Args: []string{"relation-get", "--help"}})
	inHook := Run(hookOf(newMemory(), relationHook()), wire.Request{Dir: "/", Args: []string{"relation-get", "-r", "3", "--help"}})
	shape := func(help []byte) string { before, _, _ := strings.Cut(string(help), details); return before }
	const options = `

Summary:
get relation settings

Options:
--app  (= false)
    Get the relation data for the overall application, not just a unit
--format  (= smart)
    Specify output format (json|smart|yaml)
-o, --output (= "")
    Specify an output file
-r, --relation  (= REF)
    Specify a relation by id

Details:
`
	mustBe(t, "in a plain hook", shape(plain.Stdout),
		"Usage: relation-get [options] <key> <unit id>"+strings.Replace(options, "REF", "", 1))
	mustBe(t, "in a relation hook", shape(inHook.Stdout),
		"Usage: relation-get [options] [<key> [<unit id>]]"+strings.Replace(options, "REF", "db:3", 1))

	set := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/", Args: []string{"relation-set", "--help"}})
	if !strings.Contains(string(set.Stdout), "--file") {
		t.Errorf("charm-helpers looks for --file in the help of relation-set:\n%s", set.Stdout)
	}
	none := Run(hookOf(newMemory(), plainHook()), wire.Request{Dir: "/", Args: []string{"state-delete", "--help"}})
	if !strings.HasPrefix(string(none.Stdout), "Usage: state-delete [<key>]\n") || strings.Contains(string(none.Stdout), "Options") {
		t.Errorf("help of a tool without flags:\n%s", none.Stdout)
	}
}

func TestLinkMakesAllNamesOnceAndRefreshesThem(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "tools")
	first, second := "/opt/unitd/hooktool", "/opt/unitd-2/hooktool"
	for _, client := range []string{first, first, second} {
		linkTo(t, dir, client)
		names := Outside()
		for _, tool := range Table() {
			names = append(names, tool.Name)
		}
		for _, name := range names {
			got, err := os.Readlink(filepath.Join(dir, name))
			if err != nil || got != client {
				t.Errorf("%s links to %q (%v), want %q", name, got, err, client)
			}
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	mustBe(t, "files in the directory", len(entries), len(Table())+len(Outside()))
}

func TestLinkReplacesWhatIsNoLinkAndWhatAKilledAgentLeft(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"config-get", "is-leader.new"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	linkTo(t, dir, "client")
	for _, name := range []string{"config-get", "is-leader"} {
		if got, err := os.Readlink(filepath.Join(dir, name)); err != nil || got != "client" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

// linkTo has all names in dir be links to the client.
func linkTo(t *testing.T, dir, client string) {
	t.Helper()
	if _, err := NewDir(dir, LinksTo(client).And(func(string) string { return client })).Mend(); err != nil {
		t.Fatal(err)
	}
}
