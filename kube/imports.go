package kube

import (
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// maxSource is how much of a charm's file is looked at.
const maxSource = 1 << 20

// Imports is what the Python files of a charm say, by their imports, of how they use
// the Kubernetes API.
type Imports struct {
	// Uses: they import a client of it.
	Uses bool
	// Unanswered are the kinds of objects among what they import that a Server
	// doesn't answer for, in order.
	Unanswered []string
}

// sourceDirs are where a charm has what it runs itself. What it has installed isn't
// looked at: a client has all kinds.
var sourceDirs = []string{"src", "lib"}

var (
	clientImport = pattern.New(`(?m)^[ \t]*(?:from|import)[ \t]+(?:lightkube|kubernetes)(?:\.|[ \t,]|$)`)
	kindImport   = pattern.New(`(?m)^[ \t]*from[ \t]+lightkube\.(resources\.\w+|generic_resource)[ \t]+import[ \t]+(\([^)]*\)|[^\n]*)`)
	comment      = pattern.New(`#[^\n]*`)
)

// ReadImports reads the files of a charm, a tree or an archive. What isn't there is no
// error.
func ReadImports(charm fs.FS) (Imports, error) {
	var all Imports
	for _, dir := range sourceDirs {
		err := fs.WalkDir(charm, dir, func(name string, d fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, fs.ErrNotExist):
				return nil
			case err != nil:
				return errors.Trace(err)
			case !d.Type().IsRegular() || filepath.Ext(name) != ".py":
				return nil
			}
			if info, err := d.Info(); err != nil || info.Size() > maxSource {
				return errors.Trace(err)
			}
			text, err := fs.ReadFile(charm, name)
			all.add(string(text))
			return errors.Trace(err)
		})
		if err != nil {
			return all, errors.Annotate(err, "cannot look for what the charm imports")
		}
	}
	slices.Sort(all.Unanswered)
	all.Unanswered = slices.Compact(all.Unanswered)
	return all, nil
}

func (i *Imports) add(text string) {
	i.Uses = i.Uses || clientImport.MatchString(text)
	for _, m := range kindImport.Regexp().FindAllStringSubmatch(text, -1) {
		if m[1] == "generic_resource" {
			i.Unanswered = append(i.Unanswered, "custom resources")
			continue
		}
		for name := range strings.SplitSeq(strings.Trim(comment.Regexp().ReplaceAllString(m[2], ""), "() \t"), ",") {
			words := strings.Fields(strings.Trim(name, "\\"))
			if len(words) == 0 || slices.ContainsFunc(kinds, func(k kind) bool { return k.name == words[0] }) {
				continue
			}
			i.Unanswered = append(i.Unanswered, words[0])
		}
	}
}
