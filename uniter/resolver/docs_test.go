package resolver_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// TestGuaranteesHaveTheTablesOfTheCode compares docs/guarantees.md with the
// tables that it tells of: same rows, same words, same order.
func TestGuaranteesHaveTheTablesOfTheCode(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "guarantees.md"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)

	rules := "| | rule | when it applies, and what follows |\n|---|---|---|\n"
	for i, r := range resolver.Rules() {
		rules += fmt.Sprintf("| %d | `%s` | %s |\n", i+1, r.Name, r.When)
	}
	kinds := "| hook | when it runs |\n|---|---|\n"
	for _, k := range hooks.Kinds() {
		name := string(k.Kind)
		if k.Prefix() != "" {
			name = "<" + k.Prefix() + ">-" + name
		}
		kinds += fmt.Sprintf("| `%s` | %s |\n", name, k.When)
	}
	for what, table := range map[string]string{"resolver.Rules": rules, "hooks.Kinds": kinds} {
		// The blank line makes it the whole table, not the first rows of it.
		if !strings.Contains(text, "\n\n"+table+"\n") {
			t.Errorf("docs/guarantees.md doesn't have the table of %s; it should be:\n\n%s", what, table)
		}
	}
}
