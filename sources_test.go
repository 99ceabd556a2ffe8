package unitd_test

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	// worthALook: most files cite nothing.
	worthALook = regexp.MustCompile(`spec/|docs/|§|DESIGN|Source|[Ss]eeds? 00|[OU]-[A-Z]|K-\d`)
	// wrapped is where a line of a comment, or of text, goes on in the next.
	wrapped  = regexp.MustCompile(`\n[ \t]*(?://|#|\*)?[ \t]*`)
	comments = regexp.MustCompile(`(?:(?:^|\n)[ \t]*//[^\n]*)+`)
	// specPath is a path with a folder spec in it, and sections that follow it.
	specPath    = regexp.MustCompile(`([\w./-]*\bspec/[\w.-]*\w)((?:,? ?(?:and |to |–|\(|\[)*§\d+[a-z]?(?:\.\d+)*(?: \(\d+\))?)*)`)
	bareSpec    = regexp.MustCompile(`(?:^|[^\w/.-])((?:hook-tools|uniter-\w+|cli-juju|juju-clients|ops-needs|latency-measured|containers)\.md) §`)
	docPath     = regexp.MustCompile(`(?:^|[^\w/.-])(docs/[\w/-]+\.(?:md|txt))((?:, )\\?"[^"\\]+\\?")?`)
	section     = regexp.MustCompile(`§(\d+[a-z]?(?:\.\d+)*)`)
	specHeading = regexp.MustCompile(`(?m)^#+ (\d+[a-z]?(?:\.\d+)*)\.? `)
	design      = regexp.MustCompile(`\b[Dd]esign(?: document)?,? §|\bDESIGN\.md`)
	seedNumber  = regexp.MustCompile(`\b[Ss]eeds? (00\d)(?:(?:, | and | to )(00\d))*((?:, | \()(?:(?:, | and )?"[^"]+")+)?`)
	inQuotes    = regexp.MustCompile(`"([^"]+)"`)
	sourceLine  = regexp.MustCompile(`\bSources?(?: for [\w ]+)?: (.{0,120})`)
	scenarioID  = regexp.MustCompile(`\b(?:[OU]-[A-Z]+-\d+|K-\d{3})\b`)
)

// TestEachSourceThatIsCitedIsThere finds what the repository cites as the source
// of a rule: sections and IDs of docs/spec, sections of docs/architecture.md,
// seeds. A reader must be able to open each of them.
func TestEachSourceThatIsCitedIsThere(t *testing.T) {
	t.Parallel()
	c := &cited{t: t, texts: map[string]string{}, seeds: map[string]string{}, pointed: map[string]bool{}}
	for _, list := range []string{"docs/spec/uniter-scenarios.md", "docs/spec/uniter-scenarios-original.md", "docs/spec/containers.md", "docs/scenarios.md"} {
		c.known = append(c.known, scenarioID.FindAllString(c.text(list), -1)...)
	}
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(path.Base(name), ".") || path.Base(name) == "bin"):
			return fs.SkipDir
		case d.IsDir() || name == "sources_test.go" || !slices.Contains([]string{".go", ".md", ".txtar", ".py", ".c", ".h", ".sh"}, path.Ext(name)):
			return nil
		}
		text := read(t, name)
		if !worthALook.MatchString(text) {
			return nil
		}
		c.file(name, wrapped.ReplaceAllString(text, " "))
		if path.Ext(name) == ".go" {
			c.sources(name, comments.FindAllString(text, -1))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for dir, name := range c.seeds {
		if !c.pointed[dir] {
			t.Errorf("%s: cites a seed, and nothing in its folder says that docs/spec/seeds.md names those", name)
		}
	}
	if c.found < 100 {
		t.Errorf("only %d citations were found", c.found)
	}
}

// cited looks up what is cited.
type cited struct {
	t     *testing.T
	texts map[string]string // of files that were looked into
	known []string          // IDs of scenarios
	found int
	// seeds are files that cite one, by folder; pointed are folders of which a file
	// says where those are.
	seeds   map[string]string
	pointed map[string]bool
}

// text is a file's; empty if there is none.
func (c *cited) text(name string) string {
	text, ok := c.texts[name]
	if !ok {
		b, _ := os.ReadFile(name)
		text = string(b)
		c.texts[name] = text
	}
	return text
}

func (c *cited) file(name, text string) {
	for _, m := range specPath.FindAllStringSubmatch(text, -1) {
		c.spec(name, m[1], m[2])
	}
	if path.Dir(name) != "docs/spec" {
		for _, m := range bareSpec.FindAllStringSubmatch(text, -1) {
			c.t.Errorf("%s: cites %s without saying where that is: docs/spec/%[2]s", name, m[1])
		}
	}
	for _, m := range docPath.FindAllStringSubmatch(text, -1) {
		c.found++
		of := c.text(m[1])
		heading := strings.Trim(strings.TrimPrefix(m[2], ", "), `"\`)
		switch {
		case of == "":
			c.t.Errorf("%s: cites %s, which isn't there", name, m[1])
		case heading != "" && !strings.Contains(of, "# "+heading+"\n"):
			c.t.Errorf("%s: cites %s, %q: it has no such section", name, m[1], heading)
		}
	}
	for _, m := range design.FindAllString(text, -1) {
		c.t.Errorf("%s: cites %q: what is decided is in docs/architecture.md, by the names of its sections", name, m)
	}
	for _, m := range seedNumber.FindAllStringSubmatch(text, -1) {
		c.seed(name, m)
		c.seeds[path.Dir(name)] = name
	}
	if strings.Contains(text, "docs/spec/seeds.md") || path.Dir(name) == "docs/spec" {
		c.pointed[path.Dir(name)] = true
	}
	for _, id := range scenarioID.FindAllString(text, -1) {
		c.found++
		if !slices.Contains(c.known, id) {
			c.t.Errorf("%s: cites the scenario %s, which is in no list", name, id)
		}
	}
}

// sources checks that what comments name as a source can be looked up.
func (c *cited) sources(name string, comments []string) {
	for _, text := range comments {
		for _, m := range sourceLine.FindAllStringSubmatch(wrapped.ReplaceAllString(text, " "), -1) {
			if !strings.Contains(m[1], "docs/") && !strings.Contains(m[1], "testdata/") && !strings.HasPrefix(m[1], "go doc ") && !seedNumber.MatchString(m[1]) {
				c.t.Errorf("%s: names a source that can't be looked up: %.80q", name, m[0])
			}
		}
	}
}

// spec checks a path with a folder spec in it: from here, or from the file.
func (c *cited) spec(name, target, sections string) {
	if strings.HasPrefix(target, "//") || strings.HasSuffix(target, "/spec") {
		return // elsewhere; the folder
	}
	c.found++
	of := c.text(target)
	if of == "" {
		target = path.Join(path.Dir(name), target)
		of = c.text(target)
	}
	if of == "" {
		c.t.Errorf("%s: cites %s, which isn't there", name, target)
		return
	}
	headings := specHeading.FindAllStringSubmatch(of, -1)
	for _, s := range section.FindAllStringSubmatch(sections, -1) {
		if !slices.ContainsFunc(headings, func(h []string) bool { return h[1] == s[1] }) {
			c.t.Errorf("%s: cites %s §%s: it has no such section", name, target, s[1])
		}
	}
}

// seed checks the numbers, and the parts, of seeds.
func (c *cited) seed(name string, m []string) {
	c.found++
	page := c.text("docs/spec/seeds.md")
	for _, number := range regexp.MustCompile(`00\d`).FindAllString(m[0], -1) {
		if !strings.Contains(page, "| "+number+" |") {
			c.t.Errorf("%s: cites seed %s, which docs/spec/seeds.md doesn't name", name, number)
		}
	}
	for _, part := range inQuotes.FindAllStringSubmatch(m[3], -1) {
		if !strings.Contains(strings.ToLower(page), `"`+strings.ToLower(part[1])+`"`) {
			c.t.Errorf("%s: cites %q of seed %s, which docs/spec/seeds.md doesn't name", name, part[1], m[1])
		}
	}
}
