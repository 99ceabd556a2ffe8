package check

import (
	"io/fs"
	"path"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/pattern"
)

// Subject is a charm that is checked.
type Subject struct {
	// Charm is what its metadata says, Dir where it is, ready to be deployed.
	Charm model.Charm
	Dir   string
	// Former is the directory of a former version; empty: it is upgraded to itself.
	Former string
	// Was is the former version's metadata.
	Was model.Charm
	// Commit is that of the charm's git history whose files Former has; empty: somebody has named it.
	// Such a version may never have worked: one that doesn't live as the charm does is left out.
	Commit string
	// Digest tells the charm from others and from other versions of it: Identify makes it.
	Digest string
	// Deploy are more flags for deploy, such as "--resource", "web-image=…".
	Deploy []string
	// Placeholders are the resources that nobody has given, and what stands for each.
	Placeholders []string
	// Words and Numbers are constants of the charm's code, the former such as may be keys of
	// databags, the most promising first.
	Words   []string
	Numbers []int64
	// Values are those that the charm names for its options, by their names: in its code, or in their
	// descriptions.
	Values map[string][]string
	// Partners are charms that tell what they publish, by the endpoints whose other sides they are.
	Partners map[string]Partner

	schemas  []bagSchema
	code     map[string]string // ownCode
	recorded map[string][]Key  // by endpoints
	// asks says that the code calls relation-get itself.
	asks bool
}

// withoutFormer has the charm upgraded to itself.
func (s *Subject) withoutFormer() { s.Former, s.Commit, s.Was = "", "", model.Charm{} }

// Application is what the charm is deployed as.
func (s Subject) Application() string { return s.Charm.Name }

// Unit is the application's first unit.
func (s Subject) Unit() string { return s.Charm.Name + "/0" }

const (
	// maxWords and maxNumbers bound what is taken from a charm's code.
	maxWords   = 48
	maxNumbers = 24
	// maxSource bounds a file that is read, in bytes.
	maxSource = 1 << 20
)

var (
	wordForm   = pattern.New(`["']([a-z][a-z0-9]*(?:[_.-][a-z0-9]+)*)["']`)
	keyForm    = pattern.New(`(?:\.get\(|\[|\bin\s+|setdefault\(|pop\()\s*["']([A-Za-z][\w.-]*)["']`)
	bagForm    = pattern.New(`\.data\b|databag|relation[-_]get|relation_data`)
	numberForm = pattern.New(`\b\d{1,10}\b`)
)

// ownDirs are the directories of a charm that have code of its own.
var ownDirs = []string{"src", "hooks", "lib", "actions", "reactive"}

// ReadConstants reads the words and numbers in the code of a charm, which is a directory or a charm file: of the
// directories that have its code, and of its own files at the top.
func (s *Subject) ReadConstants(charm string) error {
	score := map[string]int{}
	numbers := map[int64]bool{}
	s.describedValues()
	files, end, err := openTree(charm)
	if err != nil {
		return errors.Annotate(err, "cannot read the charm's code")
	}
	defer end()
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		top, _, below := strings.Cut(name, "/")
		switch {
		case d.IsDir() && name != "." && !slices.Contains(ownDirs, top):
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || !below && path.Ext(name) != ".py" && path.Ext(name) != "":
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > maxSource {
			return err
		}
		b, err := fs.ReadFile(files, name)
		if err != nil || strings.ContainsRune(string(b), 0) {
			return err
		}
		s.asks = s.asks || strings.Contains(string(b), "relation-get")
		readSource(string(b), top == "lib", score, numbers)
		if top != "lib" { // options are read by the charm's own code
			s.readValues(string(b))
		}
		return nil
	})
	if err != nil {
		return errors.Annotate(err, "cannot read the charm's code")
	}
	for _, not := range s.names() {
		delete(score, not)
	}
	s.Words = best(score)
	for n := range numbers {
		s.Numbers = append(s.Numbers, n)
	}
	slices.Sort(s.Numbers)
	s.Numbers = s.Numbers[:min(len(s.Numbers), maxNumbers)]
	return nil
}

// readSource scores the words of a text by how likely they are keys of a databag, and adds its
// numbers.
func readSource(text string, library bool, score map[string]int, numbers map[int64]bool) {
	lines := strings.Split(text, "\n")
	near := -100
	for i, line := range lines {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "#") || strings.HasPrefix(trimmed, `"""`) {
			continue
		}
		if bagForm.MatchString(line) {
			near = i
		}
		for _, m := range wordForm.Regexp().FindAllStringSubmatch(line, -1) {
			score[m[1]]++
			if i-near <= 6 {
				score[m[1]] += 3
			}
		}
		for _, m := range keyForm.Regexp().FindAllStringSubmatch(line, -1) {
			score[m[1]] += 4
		}
		if library {
			continue
		}
		for _, m := range numberForm.Regexp().FindAllString(line, -1) {
			if n, err := strconv.ParseInt(m, 10, 64); err == nil {
				numbers[n] = true
			}
		}
	}
}

// names are words that are something else: what the metadata names.
func (s Subject) names() (all []string) {
	for name := range s.Charm.Endpoints {
		all = append(all, name)
	}
	for name := range s.Charm.Storage {
		all = append(all, name)
	}
	for name := range s.Charm.Containers {
		all = append(all, name)
	}
	return append(all, "utf-8", "__main__", "ops", "juju")
}

func best(score map[string]int) (words []string) {
	for w := range score {
		if len(w) > 1 && len(w) <= 40 {
			words = append(words, w)
		}
	}
	sort.Slice(words, func(i, j int) bool {
		a, b := words[i], words[j]
		return score[a] > score[b] || score[a] == score[b] && a < b
	})
	return words[:min(len(words), maxWords)]
}
