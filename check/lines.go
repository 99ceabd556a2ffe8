package check

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// FileLines is a file of the charm's own code in Python: which lines of it have code, and which of
// those a hook has run.
type FileLines struct {
	File string `json:"file"`
	Code []int  `json:"code"`
	Ran  []int  `json:"ran"`
}

// codeLine is a line of a file of the charm.
type codeLine struct {
	file string
	line int
}

// codeLines is what is known of the lines of the charm's own code.
type codeLines struct {
	code map[string][]int // by files
	ran  map[codeLine]bool
	// old: a hook has run a Python that can't say which lines it runs.
	old bool
}

func newCodeLines() codeLines {
	return codeLines{code: map[string][]int{}, ran: map[codeLine]bool{}}
}

// take adds what another knows, and says whether a line has run that hadn't.
func (l *codeLines) take(from codeLines) (fresh bool) {
	maps.Copy(l.code, from.code)
	for line := range from.ran {
		fresh = fresh || !l.ran[line]
		l.ran[line] = true
	}
	l.old = l.old || from.old
	return fresh
}

// recall adds what a former report says.
func (l *codeLines) recall(files []FileLines) {
	for _, f := range files {
		l.code[f.File] = f.Code
		for _, n := range f.Ran {
			l.ran[codeLine{f.File, n}] = true
		}
	}
}

// files are the lines of each file.
func (l codeLines) files() (all []FileLines) {
	for _, name := range slices.Sorted(maps.Keys(l.code)) {
		f := FileLines{File: name, Code: l.code[name], Ran: []int{}}
		for _, n := range f.Code {
			if l.ran[codeLine{name, n}] {
				f.Ran = append(f.Ran, n)
			}
		}
		if len(f.Code) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// linesUnknown is why no lines are known; empty: they are, or the charm has none.
func (c *search) linesUnknown() string {
	switch {
	case len(c.world.code) == 0 || len(c.looks.lines.code) > 0 || len(c.looks.hooks) == 0:
		return ""
	case c.looks.lines.old:
		return "the charm's Python is older than 3.8"
	}
	return "the charm's hooks run no Python, or that of a virtual environment"
}

const (
	// maxMissing is for how many files the report lists the lines that haven't run, and maxRanges
	// how many ranges of lines it lists for each.
	maxMissing, maxRanges = 10, 12
)

// writeLines says which lines of the charm have run, and which haven't.
func (r *Report) writeLines(b *strings.Builder) {
	if r.LinesUnknown != "" {
		fmt.Fprintf(b, "Lines: not known: %s\n", r.LinesUnknown)
	}
	if len(r.Lines) == 0 {
		return
	}
	code, ran := 0, 0
	var missing []string
	for _, f := range r.Lines {
		code, ran = code+len(f.Code), ran+len(f.Ran)
		if parts := f.missing(); len(parts) > maxRanges {
			missing = append(missing, fmt.Sprintf("%s: %s and %d more", f.File, strings.Join(parts[:maxRanges], ", "), len(parts)-maxRanges))
		} else if len(parts) > 0 {
			missing = append(missing, f.File+": "+strings.Join(parts, ", "))
		}
	}
	fmt.Fprintf(b, "Lines of the charm that ran: %d of %d\n", ran, code)
	for _, m := range missing[:min(len(missing), maxMissing)] {
		fmt.Fprintf(b, "    not %s\n", m)
	}
	if more := len(missing) - maxMissing; more > 0 {
		fmt.Fprintf(b, "    and not all of %s\n", Count(more, "more file"))
	}
}

// missing are the lines that haven't run, as ranges: of lines with code that follow each other.
func (f FileLines) missing() (parts []string) {
	for i := 0; i < len(f.Code); i++ {
		if slices.Contains(f.Ran, f.Code[i]) {
			continue
		}
		first := f.Code[i]
		for i+1 < len(f.Code) && !slices.Contains(f.Ran, f.Code[i+1]) {
			i++
		}
		part := fmt.Sprint(first)
		if f.Code[i] > first {
			part += fmt.Sprintf("-%d", f.Code[i])
		}
		parts = append(parts, part)
	}
	return parts
}

//go:embed lines.py
var linesModule []byte

const (
	// linesModuleName is the name of the module that Python imports when it starts.
	linesModuleName = "unitd_lines"
	// linesDir is in a world's directory: hooks find the module there, and write which lines they run.
	linesDir = ".lines"
	// firstPython and lastPython are the minor versions of Python 3 that look for it.
	firstPython, lastPython = 6, 40
)

// linesEnvironment is what hooks need in their environment for Python to import the module. A
// dispatch that says where Python looks for packages leaves it as it is.
func linesEnvironment() []string { return []string{"PYTHONUSERBASE=$WORK/" + linesDir} }

// lineNotes are what the hooks of a world note of the lines that they run.
type lineNotes struct {
	dir         string // empty: nothing is noted
	application string
	code        map[string]string // Subject.code
	read        map[string]bool   // what was read of the files that are noted once
}

// layLines makes a directory to which hooks write lines.
func layLines(dir string) error {
	packages := filepath.Join(dir, "packages")
	for _, d := range []string{packages, filepath.Join(dir, "lib"), filepath.Join(dir, "ran"), filepath.Join(dir, "code")} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return errors.Annotate(err, "cannot have lines noted")
		}
	}
	for _, d := range []string{"ran", "code"} { // a hook may run programs as somebody else
		if err := os.Chmod(filepath.Join(dir, d), 0o777); err != nil {
			return errors.Annotate(err, "cannot have lines noted")
		}
	}
	begin := fmt.Sprintf("import sys; exec(\"try:\\n import %s\\nexcept Exception: pass\")\n", linesModuleName)
	err := cmp.Or(os.WriteFile(filepath.Join(packages, linesModuleName+".py"), linesModule, 0o644),
		os.WriteFile(filepath.Join(packages, linesModuleName+".pth"), []byte(begin), 0o644))
	for minor := firstPython; err == nil && minor <= lastPython; minor++ {
		of := filepath.Join(dir, "lib", fmt.Sprintf("python3.%d", minor))
		if err = os.Mkdir(of, 0o755); err == nil {
			err = os.Symlink(filepath.Join("..", "..", "packages"), filepath.Join(of, "site-packages"))
		}
	}
	return errors.Annotate(err, "cannot have lines noted")
}

// take adds to lines what was noted since the last time. What can't be read is left: a hook of
// another version of the charm, or another charm's, has noted it.
func (n lineNotes) take(lines *codeLines) {
	if n.dir == "" {
		return
	}
	n.each("code", func(name string, b []byte) {
		var said struct {
			File, Of string
			Code     []int
		}
		if n.read[name] {
			return
		}
		n.read[name] = true
		if json.Unmarshal(b, &said) == nil && n.code[said.File] == said.Of && said.Of != "" {
			lines.code[said.File] = said.Code
		}
	})
	n.each("ran", func(name string, b []byte) {
		var said struct {
			Unit  string
			Files map[string]struct {
				Of    string
				Lines []int
			}
		}
		_ = os.Remove(filepath.Join(n.dir, "ran", name)) // one that is read again says nothing new
		if json.Unmarshal(b, &said) != nil || !strings.HasPrefix(said.Unit, n.application+"/") {
			return
		}
		for file, of := range said.Files {
			for _, line := range of.Lines {
				if n.code[file] == of.Of {
					lines.ran[codeLine{file, line}] = true
				}
			}
		}
	})
	if _, err := os.Stat(filepath.Join(n.dir, "ran", "old")); err == nil {
		lines.old = true
	}
}

// each calls f with each file that hooks have written whole into a directory.
func (n lineNotes) each(dir string, f func(name string, b []byte)) {
	entries, _ := os.ReadDir(filepath.Join(n.dir, dir))
	for _, e := range entries {
		if filepath.Ext(e.Name()) != ".json" {
			continue
		}
		if b, err := os.ReadFile(filepath.Join(n.dir, dir, e.Name())); err == nil {
			f(e.Name(), b)
		}
	}
}

// ownCode are the Python files of a charm, which is a directory or a charm file, without packages
// and libraries of other charms: by their paths, with a checksum of each. lines.py chooses the
// same files.
func ownCode(charm string) (map[string]string, error) {
	files, end, err := openTree(charm)
	if err != nil {
		return nil, errors.Annotate(err, "cannot read the charm's code")
	}
	defer end()
	sums := map[string]string{}
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, _ := strings.Cut(name, "/")
		own := slices.Contains(ownDirs, top) || top == "dispatch"
		if d.IsDir() {
			if name != "." && !own || name == "lib/charms" || path.Base(name) == "__pycache__" {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil || !own || !d.Type().IsRegular() || info.Size() > maxSource {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		first, _, _ := bytes.Cut(b, []byte("\n"))
		if path.Ext(name) == ".py" || bytes.HasPrefix(first, []byte("#!")) && bytes.Contains(first, []byte("python")) {
			sum := sha256.Sum256(b)
			sums[name] = hex.EncodeToString(sum[:])
		}
		return nil
	})
	return sums, errors.Annotate(err, "cannot read the charm's code")
}
