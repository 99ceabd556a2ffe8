package charmdir

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/unitd/unitd/pattern"
)

// LeftByBuild says whether what is at a path below root, with slashes, was left there
// by setuptools when somebody, be it this program, made a package of the tree it is in:
// "build", and what ends in ".egg-info", beside the files that say how to make it, or
// below their "src".
func LeftByBuild(root, name string) bool {
	base, in := path.Base(name), path.Dir(name)
	switch {
	case strings.HasSuffix(base, ".egg-info"):
		return isPackage(root, in) || path.Base(in) == "src" && isPackage(root, path.Dir(in))
	case base == "build":
		return isPackage(root, in)
	}
	return false
}

func isPackage(root, dir string) bool {
	dir = filepath.Join(root, filepath.FromSlash(dir))
	return isFile(dir, "pyproject.toml") || isFile(dir, "setup.py") || isFile(dir, "setup.cfg")
}

// ignore is a line of .jujuignore, which has the form of git's.
type ignore struct {
	pattern            string
	not, dirs, anchors bool
}

func (i ignore) matches(name string, dir bool) bool {
	if i.dirs && !dir {
		return false
	}
	if !i.anchors {
		name = path.Base(name)
	}
	ok, err := path.Match(i.pattern, name)
	return ok && err == nil
}

func (p *Project) readIgnores() error {
	data, _, err := readFile(os.DirFS(p.Dir), ".jujuignore")
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var i ignore
		line, i.not = strings.CutPrefix(line, "!")
		line, i.dirs = strings.CutSuffix(line, "/")
		i.anchors = strings.Contains(line, "/")
		i.pattern = strings.TrimPrefix(line, "/")
		p.ignores = append(p.ignores, i)
	}
	return nil
}

var (
	pydepsList = pattern.New(`(?ms)^PYDEPS\s*=\s*[\[(](.*?)[\])]\s*$`)
	pyString   = pattern.New(`"([^"\n]*)"|'([^'\n]*)'|#[^\n]*`)
)

// pydeps are the packages that the libraries of other charms in the tree need,
// each by its list PYDEPS.
func pydeps(dir string) []string {
	files, err := filepath.Glob(filepath.Join(dir, "lib", "charms", "*", "v*", "*.py"))
	if err != nil {
		return nil
	}
	var out []string
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // who packs the tree says so
		}
		list := pydepsList.Regexp().FindSubmatch(data)
		if list == nil {
			continue
		}
		for _, m := range pyString.Regexp().FindAllSubmatch(list[1], -1) {
			if dep := string(m[1]) + string(m[2]); dep != "" && !slices.Contains(out, dep) {
				out = append(out, dep)
			}
		}
	}
	slices.Sort(out)
	return out
}
