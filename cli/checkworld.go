package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/pflag"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/check"
	"github.com/unitd/unitd/recording"
)

// checkWorldFlags say what stubs publish in the worlds of a check.
type checkWorldFlags struct {
	partners   []string
	recordings []string
}

func (f *checkWorldFlags) declare(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.partners, "partner", nil, "ENDPOINT=CHARM: learn from this charm what the other side of the endpoint publishes")
	fs.StringArrayVar(&f.recordings, "recording", nil, "a file of unitd record: learn from it what the other sides have published")
}

// read tells the subject what is known of its world: by the schemas in its trees, and by the
// flags. ready makes a charm ready to be deployed.
func (f checkWorldFlags) read(s *check.Subject, path string, ready func(path, name string) (*charmdir.Charm, string, error)) error {
	trees := []string{path}
	if s.Dir != path { // a charm that was built has more in it
		trees = append(trees, s.Dir)
	}
	if err := s.ReadSchemas(trees...); err != nil {
		return errors.Trace(err)
	}
	for _, p := range f.partners {
		endpoint, dir, ok := strings.Cut(p, "=")
		if !ok || endpoint == "" || dir == "" {
			return Usagef("--partner: expected ENDPOINT=CHARM, got %q", p)
		}
		charm, dir, err := ready(dir, "partner-"+endpoint)
		if err != nil {
			return errors.Annotatef(err, "--partner %s", p)
		}
		if err := s.PartnerOf(endpoint, charm.Charm, dir); err != nil {
			return Usagef("--partner %s: %v", p, err)
		}
	}
	for _, name := range f.recordings {
		text, err := os.ReadFile(name)
		if err != nil {
			return errors.Annotate(err, "cannot read the recording")
		}
		r, err := recording.Parse(text)
		if err != nil {
			return errors.Annotatef(err, "%s", name)
		}
		n, err := s.AddRecording(r)
		if err != nil {
			return errors.Annotatef(err, "%s", name)
		}
		if n == 0 {
			return errors.NotValidf("%s: in that run the charm has read nothing that others publish, so it", name)
		}
	}
	return nil
}

// identity is what tells a world from one that other flags would make: the files that they name, and
// how they are given.
func (f checkWorldFlags) identity() (paths, flags []string) {
	for _, p := range f.partners {
		_, dir, _ := strings.Cut(p, "=")
		paths = append(paths, dir)
	}
	return append(paths, f.recordings...), append(slices.Clone(f.partners), f.recordings...)
}
