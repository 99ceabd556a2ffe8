package check

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// hostsRoot says of a placeholder for an image what it is.
const hostsRoot = " (this host's root)"

// errPlaceholder says that a charm can't be tried because of what stands for its resources.
const errPlaceholder = errors.ConstError("a resource is missing")

// lacking is that error, of a scenario that fails before anything is tried.
func (s Subject) lacking(f *failed) error {
	what, _ := whatHappened(EmptyDatabag, f)
	return errors.WithType(fmt.Errorf("cannot check %s with placeholders for its resources, %s: %s; give them with --resource",
		s.Charm.Name, strings.Join(s.Placeholders, ", "), what), errPlaceholder)
}

// hasImage says whether each image of the charm is what it is to be.
func (s Subject) hasImage() bool {
	return !slices.ContainsFunc(s.Placeholders, func(p string) bool { return strings.HasSuffix(p, hostsRoot) })
}

// more are the flags for a version of the charm, as words of a script: without those for resources that it
// hasn't.
func (s Subject) more(version string) (words []string) {
	for i, word := range s.Deploy {
		of := s.Deploy[i|1] // they come in pairs
		if name, _, _ := strings.Cut(of, "="); version != formerVersion || s.formerHas(name) {
			words = append(words, quoted(word))
		}
	}
	return words
}

// fresh are the flags for resources that the former version hasn't.
func (s Subject) fresh() (words []string) {
	for _, of := range s.Deploy {
		if name, _, ok := strings.Cut(of, "="); ok && !s.formerHas(name) {
			words = append(words, "--resource", quoted(of))
		}
	}
	return words
}

func (s Subject) formerHas(resource string) bool {
	_, ok := s.Was.Resources[resource]
	return ok || s.Former == ""
}

// Resources has the charm deployed with these resources, each NAME=VALUE, and with a placeholder for
// each other one: the root of this host for an image that nobody names, and an empty file, which
// stores have too for a file that is optional.
func (s *Subject) Resources(given []string) {
	named := map[string]bool{}
	for _, of := range given {
		name, _, _ := strings.Cut(of, "=")
		named[name] = true
		s.Deploy = append(s.Deploy, "--resource", of)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Charm.Resources)) {
		r, value, what := s.Charm.Resources[name], os.DevNull, " (an empty file)"
		image := r.Type == model.OCIImage
		if named[name] || image && (r.Upstream != "" || len(s.Charm.Containers) == 0) {
			continue
		}
		if image {
			value, what = "host", hostsRoot
		}
		s.Deploy = append(s.Deploy, "--resource", name+"="+value)
		s.Placeholders = append(s.Placeholders, name+what)
	}
}
