package check

import (
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
)

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
		value, what := os.DevNull, " (an empty file)"
		if r := s.Charm.Resources[name]; r.Type == model.OCIImage {
			value, what = "host", " (this host's root)"
			named[name] = named[name] || r.Upstream != "" || len(s.Charm.Containers) == 0
		}
		if !named[name] {
			s.Deploy = append(s.Deploy, "--resource", name+"="+value)
			s.Placeholders = append(s.Placeholders, name+what)
		}
	}
}
