package charmdir

import (
	"strings"

	"github.com/unitd/unitd/model"
)

func readResources(n node, c *model.Charm) error {
	entries, err := n.entries()
	if err != nil {
		return err
	}
	c.Resources = map[string]model.ResourceSpec{}
	for _, e := range entries {
		r := model.ResourceSpec{}
		if err := e.mapping(); err != nil {
			return err
		}
		for _, f := range []struct {
			key string
			to  *string
		}{{"type", &r.Type}, {"filename", &r.Filename}, {"description", &r.Description}, {"upstream-source", &r.Upstream}} {
			if *f.to, err = e.get(f.key).text(); err != nil {
				return err
			}
		}
		if e.get("type").null() {
			r.Type = model.FileResource
		}
		switch {
		case r.Type != model.FileResource && r.Type != model.OCIImage:
			return e.get("type").errorf("unknown resource type %q, expected file or oci-image", r.Type)
		case r.Type == model.FileResource && r.Filename == "":
			return e.errorf("no filename")
		case r.Type == model.FileResource && !plainName(r.Filename):
			return e.get("filename").errorf("expected the name of a file, without a path, got %q", r.Filename)
		case !plainName(e.key):
			return e.errorf("invalid resource name %q", e.key)
		}
		c.Resources[e.key] = r
	}
	return nil
}

// plainName says whether a name can be that of a file in a directory: a unit's
// resources are files, named by the charm.
func plainName(name string) bool {
	return name != "" && name != "." && name != ".." && len(name) <= 255 && !strings.ContainsAny(name, "/\\\x00")
}
