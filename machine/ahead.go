package machine

import (
	"context"
	"reflect"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// ahead fetches the images of a unit's next containers while those that it has go on.
// The zero value fetches none.
type ahead struct {
	stop context.CancelFunc
	over sync.WaitGroup
	want []nextImage

	mu   sync.Mutex
	next *state.NextImage // nil: all are there
}

// nextImage is an image that a container is to have.
type nextImage struct {
	container string
	source    oci.Source
	digest    string
}

// The pauses before an image that couldn't be had is tried again are those of
// containers. Source: docs/spec/containers.md §4.4.
const (
	firstImagePause = 10 * time.Second
	mostImagePause  = 5 * time.Minute
)

// seeNext notes whether images are missing of the pod that the unit is to have, and
// has them fetched. There is nothing to wait for where the former pod is being taken
// away, or isn't there.
func (u *unit) seeNext(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	a, c := &u.inPod.ahead, u.cell.Load()
	keeps := s.Pod.Has == l.Pod && u.inPod.made == l.Pod && s.Pod.Wanted.Number != l.Pod
	if c == nil || !keeps || l.Charm == "" || l.Stopped || s.Unit.Life != model.Alive {
		a.end()
		return nil
	}
	images := workload.ImagesOf(u.images(), u.cells, c.IDs())
	missing, err := u.missing(ctx, s, images)
	if err != nil {
		return errors.Trace(err)
	}
	u.seen.Unfetched = len(missing) > 0
	switch {
	case len(missing) == 0:
		a.end()
	case !reflect.DeepEqual(a.want, missing):
		a.end()
		a.begin(u, images, missing)
	}
	return nil
}

// missing are the images of the pod that the unit is to have that aren't on the host.
func (u *unit) missing(ctx context.Context, s *state.Snapshot, images *oci.Cache) ([]nextImage, error) {
	doc, err := u.model.Charm(ctx, s.Pod.Wanted.Charm)
	if err != nil {
		return nil, errors.Trace(err)
	}
	var all []nextImage
	for _, name := range doc.Charm.ContainerNames() {
		image, err := u.model.PodImage(ctx, s.Application.Name, s.Pod.Wanted, doc.Charm.Containers[name].Resource)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot get the image of container %s", name)
		}
		reference, err := oci.Parse(image.Reference)
		if err != nil {
			return nil, errors.Trace(err)
		}
		source := oci.Source{Reference: reference, Username: image.Username, Password: image.Password}
		if !images.Has(source, image.Digest) {
			all = append(all, nextImage{name, source, image.Digest})
		}
	}
	return all, nil
}

// begin has the images fetched until end is called.
func (a *ahead) begin(u *unit, images *oci.Cache, want []nextImage) {
	ctx, stop := context.WithCancel(context.Background())
	a.stop, a.want = stop, want
	a.tell(u, want[0], "")
	a.over.Go(func() {
		for _, one := range want {
			if !a.fetch(ctx, u, images, one) {
				return
			}
		}
		a.mu.Lock()
		a.next = nil
		a.mu.Unlock()
		u.podChanged()
	})
}

// fetch tries to have an image until it is there; false: it is wanted no more.
func (a *ahead) fetch(ctx context.Context, u *unit, images *oci.Cache, one nextImage) bool {
	for pause := firstImagePause; ; pause = min(2*pause, mostImagePause) {
		a.tell(u, one, "")
		image, err := images.Fetch(ctx, one.source, one.digest)
		if err == nil {
			image.Release() // the model has it in use
			return true
		}
		if ctx.Err() != nil {
			return false
		}
		u.log.Error("cannot get the image of a unit's next containers", "unit", u.name, "container", one.container, "err", err, "again-in", pause)
		timer := u.clock.NewTimer(pause)
		a.tell(u, one, err.Error())
		select {
		case <-timer.Chan():
		case <-ctx.Done():
			timer.Stop()
			return false
		}
	}
}

// tell has people see how an image is.
func (a *ahead) tell(u *unit, one nextImage, fault string) {
	a.mu.Lock()
	next := &state.NextImage{Container: one.container, Image: one.source.String(), Fault: fault, Since: u.clock.Now()}
	if was := a.next; was != nil && was.Container == next.Container && was.Image == next.Image && was.Fault == fault {
		next.Since = was.Since
	}
	a.next = next
	a.mu.Unlock()
	u.podChanged()
}

// end has no image fetched any more.
func (a *ahead) end() {
	if a.stop == nil {
		return
	}
	a.stop()
	a.over.Wait()
	a.stop, a.want = nil, nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = nil
}

// waits is the image that is waited for; nil: there is none.
func (a *ahead) waits() *state.NextImage {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next
}

// coming says whether a container of the pod, or the image of a next one, is about to
// be there, as far as is known.
func (p *pod) coming() bool {
	next := p.ahead.waits()
	return p.containers.Coming() || next != nil && next.Fault == ""
}
