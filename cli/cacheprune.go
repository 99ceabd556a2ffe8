package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
)

// pruned is what was removed.
type pruned struct {
	Removed []kept `json:"removed" yaml:"removed"`
	// Freed and Left are bytes.
	Freed int64 `json:"freed" yaml:"freed"`
	Left  int64 `json:"size" yaml:"size"`
	// busy: images are being fetched, and stayed for that.
	busy bool
}

// prune removes what nobody uses, that first which was used longest ago, until no more
// than so many bytes are left. wait says whether it waits for those who fetch images.
func (a caches) prune(s stocked, limit int64, wait bool) (pruned, error) {
	p := pruned{Removed: []kept{}, Left: s.Size}
	var unused []kept
	for _, k := range s.Items {
		if !a.BuiltWith(k.ID) && len(k.By) == 0 {
			unused = append(unused, k)
		}
	}
	slices.SortStableFunc(unused, func(a, b kept) int { return a.at.Compare(b.at) })
	images := int64(0) // bytes of them that are to go
	charms := s.charms()
	for _, k := range unused {
		if p.Left-images <= limit {
			break
		}
		if k.Kind == keptImage {
			images += k.Size
			if k.Size == 0 {
				images++ // all of it is shared, with others that may go
			}
			continue
		}
		done, freed, err := a.removeOne(charms, k, s.seen)
		if err != nil {
			return p, err
		}
		if done {
			p.Removed, p.Freed, p.Left = append(p.Removed, k), p.Freed+freed, p.Left-freed
		}
	}
	if err := charms.sweep(a.Context()); err != nil {
		return p, err
	}
	err := a.pruneImages(&p, s, limit, images, wait)
	return p, err
}

// charmsKept removes charms. Those of the same content, in whichever models, are there
// once: it goes with the last of them.
type charmsKept struct {
	left map[string]int // how many have the content, by its hash
	from *state.Model   // the last one that a charm was removed from
}

func (s stocked) charms() *charmsKept {
	c := &charmsKept{left: map[string]int{}}
	for _, k := range s.Items {
		if k.Kind == keptCharm {
			c.left[k.ID]++
		}
	}
	return c
}

// remove removes a charm, unless it has come into use, and says how many bytes that
// frees.
func (c *charmsKept) remove(ctx context.Context, k kept) (done bool, freed int64, err error) {
	if done, err = k.in.RemoveCharm(ctx, k.url); err != nil || !done {
		return false, 0, err
	}
	c.from = k.in
	if c.left[k.ID]--; c.left[k.ID] > 0 {
		return true, 0, nil
	}
	return true, k.Size, nil
}

// sweep deletes the content of what was removed.
func (c *charmsKept) sweep(ctx context.Context) error {
	if c.from == nil {
		return nil
	}
	return errors.Annotate(c.from.SweepCharms(ctx), "cannot delete the content of charms")
}

// removeOne removes packages, a charm or a download, unless they have come into use, and says how
// many bytes that frees.
func (a caches) removeOne(charms *charmsKept, k kept, seen time.Time) (done bool, freed int64, err error) {
	switch k.Kind {
	case keptCharm:
		return charms.remove(a.Context(), k)
	case keptDownload:
		done, err = removeDownload(k, seen)
		return done, k.Size, err
	}
	done, err = a.removePackages(k, seen)
	return done, k.Size, err
}

// removePackages removes those that nobody has used since it was seen who does.
func (a caches) removePackages(k kept, seen time.Time) (bool, error) {
	dir, err := deploy.CacheDir()
	if err != nil {
		return false, err
	}
	return charmbuild.Remove(dir, k.ID, func(now charmbuild.Kept) bool {
		return now.Used.Before(seen) && len(now.Uses) <= len(k.uses)
	})
}

// pruneImages removes images of so many bytes. What models use is asked once more, as
// nobody can fetch then.
func (a caches) pruneImages(p *pruned, s stocked, limit, bytes int64, wait bool) error {
	dir, err := agent.DataDir()
	if err != nil || bytes == 0 || a.SameStore(dir) != nil {
		return err
	}
	used := func(context.Context) ([]string, error) {
		use, err := a.inUse()
		var digests []string
		for digest := range use.images {
			digests = append(digests, digest)
		}
		return digests, err
	}
	cache, end := deploy.ImageCache(dir)
	defer end()
	most := max(s.images-bytes, 0)
	var done oci.Pruned
	if wait {
		done, err = cache.Prune(a.Context(), most, used)
	} else {
		var idle bool
		done, idle, err = cache.PruneIdle(a.Context(), most, used)
		p.busy = !idle
	}
	for _, i := range done.Removed {
		p.Removed = append(p.Removed, kept{Kind: keptImage, Name: strings.Join(i.References, " "), ID: i.Digest, Size: i.Size, Used: stamp(i.Used)})
		p.Freed, p.Left = p.Freed+i.Size, p.Left-i.Size
	}
	return errors.Annotate(err, "cannot clear the cache of images")
}

// forgetUses has packages be noted as used by those alone who may use them.
func (a caches) forgetUses(s stocked) error {
	dir, err := deploy.CacheDir()
	if err != nil {
		return err
	}
	use, err := a.inUse()
	if err != nil {
		return err
	}
	o, err := a.Owner()
	if err != nil {
		return err
	}
	for _, k := range s.Items {
		if k.Kind != keptPackages || a.BuiltWith(k.ID) {
			continue
		}
		known := k.uses
		keep := func(u charmbuild.Use) bool { return !slices.Contains(known, u) || len(usersOf(o, u, use)) > 0 }
		if !slices.ContainsFunc(known, func(u charmbuild.Use) bool { return !keep(u) }) {
			continue
		}
		if err := charmbuild.Forget(a.Context(), dir, k.ID, keep); err != nil {
			return errors.Annotate(err, fmt.Sprintf("packages %s", k.ID))
		}
	}
	return nil
}
