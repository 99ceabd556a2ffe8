package unitd_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// TestTheReadmeSaysWhyEachDependencyIsThere compares README.md with go.mod.
func TestTheReadmeSaysWhyEachDependencyIsThere(t *testing.T) {
	t.Parallel()
	readme := read(t, "README.md")
	for _, line := range strings.Split(read(t, "go.mod"), "\n") {
		name, _, ok := strings.Cut(strings.TrimSpace(line), " v")
		if !ok || strings.HasSuffix(line, "// indirect") {
			continue
		}
		if !strings.Contains(readme, "("+"https://"+name+")") {
			t.Errorf("README.md has no line for %s", name)
		}
	}
}

// TestLinksBetweenTheDocumentsLead follows the relative links of all Markdown
// files.
func TestLinksBetweenTheDocumentsLead(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("git", "ls-files", "*.md").Output()
	if err != nil {
		t.Skipf("skipped: not in a clone: %v", err)
	}
	code := regexp.MustCompile("`[^`\n]*`")
	link := regexp.MustCompile(`\]\(([^)#]+)(#[^)]*)?\)`)
	for _, file := range strings.Fields(string(out)) {
		dir := ""
		if i := strings.LastIndexByte(file, '/'); i >= 0 {
			dir = file[:i+1]
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(read(t, file), "``"), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			if _, err := os.Stat(dir + m[1]); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", file, m[1])
			}
		}
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
