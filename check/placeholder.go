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
		r, value, what := s.Charm.Resources[name], os.DevNull, " (an empty file)"
		image := r.Type == model.OCIImage
		if named[name] || image && (r.Upstream != "" || len(s.Charm.Containers) == 0) {
			continue
		}
		if image {
			s.images = append(s.images, name)
			value, what = "host", " (this host's root)"
		}
		s.Deploy = append(s.Deploy, "--resource", name+"="+value)
		s.Placeholders = append(s.Placeholders, name+what)
	}
}
