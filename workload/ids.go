package workload

import (
	"context"
	"os"

	"github.com/juju/errors"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/oci"
)

// ids are those that the container has: the ones of the unit's cell, as both have
// files in common.
func (c *container) ids() isolate.IDs {
	if c.with != nil {
		return c.with.IDs()
	}
	ids, _ := c.unit.Cells.IDs() // none is one
	return ids
}

// images is the cache, with layers whose files belong to the container's ids.
func (c *container) images() *oci.Cache { return ImagesOf(c.unit.Images, c.unit.Cells, c.ids()) }

// ImagesOf is a cache of images as containers with those ids use it: the files of
// layers that it unpacks belong to these, and it can remove them. Where there is one id
// alone it unpacks as the cache does.
func ImagesOf(cache *oci.Cache, cells *isolate.Cells, ids isolate.IDs) *oci.Cache {
	images := *cache
	images.Disk = cells.Through(images.Disk)
	if ids.Many() {
		images.Form = oci.MappedBy(ids.Key())
		images.Inside = func(ctx context.Context, input []byte, args ...string) ([]byte, error) {
			return cells.RunInside(ctx, ids, input, args...)
		}
	}
	return &images
}

// own gives a directory to a user of the container, where there is more than one.
func (c *container) own(dir string, uid, gid int) error {
	if os.Geteuid() == 0 {
		return errors.Trace(os.Lchown(dir, uid, gid))
	}
	ids := c.ids()
	if !ids.Many() {
		return nil // all belongs to the one user that there is
	}
	uid, gid = ids.OnHost(uid, gid)
	return errors.Trace(c.unit.Disk.Lchown(dir, uid, gid))
}
