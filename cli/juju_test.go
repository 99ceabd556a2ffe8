package cli

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// update has the page written anew instead of compared.
var update = flag.Bool("update", false, "write docs/juju.md anew")

// tree is the whole command line.
func tree(t *testing.T) *cobra.Command {
	t.Helper()
	return programOf(t).root(nil)
}

// programOf is a run of the program that nobody hears.
func programOf(t *testing.T) *program {
	t.Helper()
	app := newProgram(t.Context(), "unitd", Streams{In: strings.NewReader(""), Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	t.Cleanup(app.close)
	return app
}

// verbNamed is the verb of that name, or nil.
func verbNamed(root *cobra.Command, name string) *cobra.Command {
	for _, cmd := range root.Commands() {
		if cmd.Name() == name || cmd.HasAlias(name) {
			return cmd
		}
	}
	return nil
}

// TestJujusCommandsAreWhatTheTableSays: one that is there is a verb, under all its
// names, and has a script that calls it; one that is absent isn't, and has a reason.
func TestJujusCommandsAreWhatTheTableSays(t *testing.T) {
	t.Parallel()
	root := tree(t)
	if !slices.IsSortedFunc(JujuCommands(), func(a, b JujuCommand) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the table isn't in order")
	}
	for _, c := range JujuCommands() {
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			if got, want := verbNamed(root, name) != nil, c.Is != Absent; got != want {
				t.Errorf("%s is a verb: %v, and the table says of %s that it is %s", name, got, c.Name, c.Is)
			}
		}
		if (c.Is == Alike) != (c.How == "") || strings.HasSuffix(c.How, ".") || strings.Contains(c.How, "\n") {
			t.Errorf("%s is %s: %q", c.Name, c.Is, c.How)
		}
		if c.Is == Absent {
			if c.Shown != "" {
				t.Errorf("%s is absent, and shown by %s", c.Name, c.Shown)
			}
			continue
		}
		script, err := os.ReadFile(scriptFile(c.Shown))
		called := regexp.MustCompile(`\b(unitd|juju|refuse|misuse) (` + strings.Join(append(c.Aliases, c.Name), "|") + `)( |$|'|\))`)
		if err != nil || !slices.ContainsFunc(strings.Split(string(script), "\n"), called.MatchString) {
			t.Errorf("the script %q doesn't call %s (%v)", c.Shown, c.Name, err)
		}
	}
}

// scriptFile is the file of a script: a terminal session, or one of "unitd test".
func scriptFile(name string) string {
	const sessions, scripts = "../cmd/unitd/testdata/script", "../script/testdata/script"
	if path := filepath.Join(sessions, name+".txtar"); exists(path) {
		return path
	}
	return filepath.Join(scripts, name+".txtar")
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// TestAbsentCommandsSayWhy: each says in one line that unitd doesn't have it and why,
// under all its names, with flags and arguments, and as the subject of help.
func TestAbsentCommandsSayWhy(t *testing.T) {
	t.Parallel()
	absent := 0
	for _, c := range JujuCommands() {
		if c.Is != Absent {
			continue
		}
		absent++
		for _, name := range append([]string{c.Name}, c.Aliases...) {
			calls := [][]string{{name}}
			if absent == 1 {
				calls = append(calls, []string{name, "--some-flag", "x"}, []string{"--model", "m", name}, []string{"help", name}, []string{name, "--help"})
			}
			for _, args := range calls {
				var out, errs bytes.Buffer
				code := Run(t.Context(), append([]string{"juju"}, args...), Streams{In: strings.NewReader(""), Out: &out, Err: &errs})
				if want := fmt.Sprintf("ERROR unitd has no %s: %s\n", name, c.How); code != Failed || errs.String() != want || out.Len() > 0 {
					t.Fatalf("%q ends with %d, prints %.80q and\n%.200swant\n%s", args, code, &out, &errs, want)
				}
			}
		}
	}
	if absent < 30 {
		t.Errorf("only %d are absent", absent)
	}
}

// TestThePageOfJujusCommandsIsMadeFromTheTable compares docs/juju.md with the table and
// the verbs. With -update it is written.
func TestThePageOfJujusCommandsIsMadeFromTheTable(t *testing.T) {
	t.Parallel()
	const path = "../docs/juju.md"
	want := jujuPage(tree(t))
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != want {
		t.Errorf("%s isn't what the table says (%v): \"go test ./cli -run Page -update\" writes it anew", path, err)
	}
}

// jujuPage is the page, in Markdown.
func jujuPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(`# Juju's commands

Under the name ` + "`juju`" + `, unitd accepts the commands that people, scripts and Jubilant give to Juju. This page lists every command of
Juju 3.6. A test makes it from the program's own table: ` + "`go test ./cli -run Page -update`" + `.

| word | what it means |
|---|---|
| alike | it works as in Juju |
| differs | it does the same, except for what the table says |
| recorded | unitd keeps the values and shows them again; they have no effect, and the command says so |
| refused | the command exists, and says why it can't do what you ask |
| absent | unitd doesn't have it; if you call it, it says why, with exit code 1 |

The last column links to a terminal session that calls the command. The session runs as a test.

| Juju's command | in unitd | how, or why | shown by |
|---|---|---|---|
`)
	count := map[Likeness]int{}
	for _, c := range JujuCommands() {
		count[c.Is]++
		names := "`" + strings.Join(append([]string{c.Name}, c.Aliases...), "`, `") + "`"
		shown := ""
		if c.Shown != "" {
			shown = fmt.Sprintf("[%s](%s)", strings.ReplaceAll(c.Shown, "-", " "), scriptFile(c.Shown))
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", names, c.Is, cell(c.How), shown)
	}
	fmt.Fprintf(&b, "\nOf %d commands %d are alike, %d differ, %d are recorded, %d are refused and %d are absent.\n",
		len(JujuCommands()), count[Alike], count[Differs], count[Recorded], count[Refused], count[Absent])
	b.WriteString("\n## What Juju doesn't have\n\nThese commands also work under the name `juju`.\n\n| verb | what it does |\n|---|---|\n")
	for _, cmd := range root.Commands() {
		if !ofJuju(cmd.Name()) && cmd.IsAvailableCommand() {
			fmt.Fprintf(&b, "| `%s` | %s |\n", cmd.Name(), cell(cmd.Short))
		}
	}
	return b.String()
}

// cell is a text for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

func ofJuju(name string) bool {
	return slices.ContainsFunc(JujuCommands(), func(c JujuCommand) bool { return c.Name == name || slices.Contains(c.Aliases, name) })
}
