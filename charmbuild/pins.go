package charmbuild

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/pattern"
)

// pins are what a project's files of requirements say of packages by name.
type pins struct {
	// hashed: pip takes nothing then but what has a hash.
	hashed   bool
	versions map[string]string // empty: no exact one
	seen     map[string]bool
}

var (
	requirementName = pattern.New(`^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*(?:===?\s*([^\s;,\\]+))?`)
	nameParts       = pattern.New(`[-_.]+`)
)

// canonical is a package's name as all compare it.
func canonical(name string) string {
	return strings.ToLower(nameParts.Regexp().ReplaceAllString(name, "-"))
}

// readPins reads the requirements with all that they include. What can't be
// read is left to pip, which says so.
func readPins(p *charmdir.Project) pins {
	pp := pins{versions: map[string]string{}, seen: map[string]bool{}}
	for _, name := range p.Requirements {
		pp.read(filepath.Join(p.Dir, name))
	}
	return pp
}

func (pp *pins) read(path string) {
	data, err := os.ReadFile(path)
	if err != nil || pp.seen[path] {
		return
	}
	pp.seen[path] = true
	text := strings.ReplaceAll(strings.ReplaceAll(string(data), "\\\r\n", " "), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		line, _, _ = strings.Cut(line, " #")
		if line[0] == '-' {
			words := optionsApart(line)
			pp.hashed = pp.hashed || words[0] == "--require-hashes"
			if (words[0] == "-r" || words[0] == "--requirement") && len(words) > 1 {
				pp.read(filepath.Join(filepath.Dir(path), words[1]))
			}
			continue
		}
		pp.hashed = pp.hashed || strings.Contains(line, " --hash")
		if m := requirementName.FindStringSubmatch(line); m != nil {
			pp.versions[canonical(m[1])] = m[2]
		}
	}
}

// without are the packages that the requirements don't have.
func (pp pins) without(packages []string) []string {
	return slices.DeleteFunc(slices.Clone(packages), func(pkg string) bool {
		m := requirementName.FindStringSubmatch(pkg)
		if m == nil {
			return false
		}
		_, there := pp.versions[canonical(m[1])]
		return there
	})
}

// constraints are the versions of the requirements, as a file for pip.
func (pp pins) constraints() []byte {
	var lines []string
	for name, version := range pp.versions {
		if version != "" && !strings.Contains(version, "*") {
			lines = append(lines, name+"=="+version+"\n")
		}
	}
	slices.Sort(lines)
	return []byte(strings.Join(lines, ""))
}
