package oci

import (
	"bytes"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// Has says whether the cache has an image whole, with its layers as directories: Fetch
// asks nobody else then, and has nothing to unpack. A directory is its own image. No
// lock is taken, so whoever may have it removed meanwhile makes the answer stale.
func (c *Cache) Has(s Source, digest string) bool {
	if s.Reference.Directory() {
		_, err := asImage(s.Reference)
		return err == nil
	}
	if !digestForm.MatchString(digest) {
		return false
	}
	form, err := c.form()
	if err != nil {
		return false
	}
	raw, err := c.document(digest)
	if err != nil {
		return false
	}
	m, _, err := parseDocument(raw)
	if err != nil {
		return false
	}
	if raw, err = c.document(m.Config.Digest.String()); err != nil {
		return false
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(raw))
	if err != nil {
		return false
	}
	for _, id := range config.RootFS.DiffIDs {
		if !digestForm.MatchString(id.String()) {
			return false
		}
		if _, err := c.readLayer(form, id.String()); err != nil {
			return false
		}
	}
	return true
}
