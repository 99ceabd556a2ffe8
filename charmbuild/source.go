package charmbuild

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/pattern"
)

// layout is the version of what is in the cache: another one makes all anew.
const layout = 2

// source is what packages are made from.
type source struct {
	files []sourceFile
	// inner are files that those include, and trees that they name.
	inner []sourceFile
	seen  map[string]bool
}

type sourceFile struct {
	name string // as the project or the including file has it
	sum  string
}

// localSource is a package, in a project or a lock, that may be on this machine.
var localSource = pattern.New(`(?m)(?:\{[^}\n]*\b(?:path|directory|editable)|^url)\s*=\s*"([^"\n]+)"`)

// sources reads what a project's packages are made from.
func sources(p *charmdir.Project) (source, error) {
	s := source{seen: map[string]bool{}}
	if p.Plugin == "uv" || p.Plugin == "poetry" {
		for _, name := range []string{"pyproject.toml", p.Plugin + ".lock"} {
			data, err := os.ReadFile(filepath.Join(p.Dir, name))
			if os.IsNotExist(err) {
				continue
			}
			if err != nil {
				return s, errors.Trace(err)
			}
			s.files = append(s.files, sourceFile{name, sum(data)})
			for _, m := range localSource.Regexp().FindAllSubmatch(data, -1) {
				if path := filepath.Clean(string(m[1])); !strings.Contains(string(m[1]), "://") && path != "." {
					if err := s.tree(p.Dir, path); err != nil {
						return s, err
					}
				}
			}
		}
		if len(s.files) == 0 {
			return s, errors.NewNotFound(nil, "there is neither a pyproject.toml nor a "+p.Plugin+".lock")
		}
		return s, nil
	}
	for _, name := range append(append([]string{}, p.Requirements...), p.Constraints...) {
		if strings.Contains(name, "://") {
			s.files = append(s.files, sourceFile{name, ""})
			continue
		}
		data, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return s, errors.Trace(err)
		}
		s.files = append(s.files, sourceFile{name, sum(data)})
		if err := s.include(p.Dir, filepath.Join(p.Dir, name), data); err != nil {
			return s, err
		}
	}
	return s, nil
}

// include notes what a file of requirements names: other files, which are
// relative to it, and trees, which are relative to where pip runs.
func (s *source) include(root, path string, data []byte) error {
	for line := range strings.Lines(string(data)) {
		words := optionsApart(line)
		if len(words) == 0 {
			continue
		}
		switch first := words[0]; {
		case (first == "-r" || first == "--requirement" || first == "-c" || first == "--constraint") && len(words) > 1:
			inner := filepath.Join(filepath.Dir(path), words[1])
			if s.seen[inner] || strings.Contains(words[1], "://") {
				continue
			}
			s.seen[inner] = true
			data, err := os.ReadFile(inner)
			if err != nil {
				continue // pip says so
			}
			s.inner = append(s.inner, sourceFile{words[1], sum(data)})
			if err := s.include(root, inner, data); err != nil {
				return err
			}
		case (first == "-e" || first == "--editable") && len(words) > 1:
			if err := s.tree(root, words[1]); err != nil {
				return err
			}
		default:
			for i, word := range words {
				path := i == 0 || words[i-1] == "@"
				if strings.HasPrefix(word, "file:") || path && (strings.HasPrefix(word, ".") || strings.HasPrefix(word, "/")) {
					if err := s.tree(root, word); err != nil {
						return err
					}
				}
			}
		}
	}
	return nil
}

// optionsApart are the words of a line, an option's name and value apart.
func optionsApart(line string) []string {
	words := strings.Fields(line)
	if len(words) == 0 || words[0][0] != '-' {
		return words
	}
	if name, value, ok := strings.Cut(words[0], "="); ok {
		return append([]string{name, value}, words[1:]...)
	}
	if first := words[0]; len(first) > 2 && first[1] != '-' {
		return append([]string{first[:2], first[2:]}, words[1:]...)
	}
	return words
}

// tree notes a package that is a tree, or an archive, on this machine.
func (s *source) tree(root, name string) error {
	path := strings.TrimPrefix(strings.TrimPrefix(name, "file:"), "//")
	if !filepath.IsAbs(path) {
		path = filepath.Join(root, path)
	}
	if s.seen[path] {
		return nil
	}
	s.seen[path] = true
	all := sha256.New()
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(path, at)
		switch {
		case err != nil:
			return err
		case rel != "." && (charmdir.Passing(filepath.ToSlash(rel)) || charmdir.LeftByBuild(path, filepath.ToSlash(rel))):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		data, err := os.ReadFile(at)
		all.Write([]byte(rel + "\x00" + sum(data) + "\n"))
		return err
	})
	if os.IsNotExist(err) {
		return nil // pip says so
	}
	s.inner = append(s.inner, sourceFile{name, hex.EncodeToString(all.Sum(nil))})
	return errors.Trace(err)
}

// key is what the packages have in the cache.
func (s source) key(p *charmdir.Project, python interpreter) string {
	type named struct{ Name, Sum string }
	var files []named
	for _, f := range append(append([]sourceFile{}, s.files...), s.inner...) {
		files = append(files, named{f.name, f.sum})
	}
	data, err := json.Marshal(struct {
		Layout                                              int
		Python, Plugin                                      string
		Requirements, Constraints, Packages, Extras, Groups []string
		Files                                               []named
	}{layout, python.id, p.Plugin, p.Requirements, p.Constraints, p.Packages, p.Extras, p.Groups, files})
	if err != nil {
		panic(err) // these are texts
	}
	return sum(data)[:32]
}

func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}
