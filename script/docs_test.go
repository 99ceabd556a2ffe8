package script_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
