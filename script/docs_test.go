package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/script"
)

// TestTheReferenceHasAllCommands as script.Commands has them, in its order.
func TestTheReferenceHasAllCommands(t *testing.T) {
	t.Parallel()
	var want strings.Builder
	for _, c := range script.Commands() {
		fmt.Fprintf(&want, "- `%s`:\n  %s\n", strings.TrimSpace(c.Name+" "+c.Args), c.Summary)
	}
	b, err := os.ReadFile(filepath.Join("..", "docs", "scripts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(b), "\n## Commands\n")
	if ok {
		_, section, ok = strings.Cut(section, "-->\n")
	}
	have, _, ends := strings.Cut(section, "\n## ")
	if !ok || !ends {
		t.Fatal(`docs/scripts.md hasn't a section "Commands" with a comment before the list`)
	}
	if strings.TrimSpace(have) != strings.TrimSpace(want.String()) {
		t.Errorf("docs/scripts.md: the list of commands should be:\n\n%s", want.String())
	}
}

// TestTheReferenceHasAllPoints as machine.PointNames has them, in its order.
func TestTheReferenceHasAllPoints(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "docs", "scripts.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(b), "\n## Points of a hook run\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var have []machine.PointName
	for line := range strings.Lines(section) {
		if row, ok := strings.CutPrefix(line, "| `"); ok {
			name, _, _ := strings.Cut(row, "`")
			have = append(have, machine.PointName(name))
		}
	}
	if want := machine.PointNames(); !slices.Equal(have, want) {
		t.Errorf("docs/scripts.md has the points %v, and there are %v", have, want)
	}
}
