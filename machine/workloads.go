package machine

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// charmContainers is where a container unit's charm finds the scratch directories
// of its workload containers. Source: docs/spec/containers.md §4.3.
const charmContainers = "/charm/containers"

// podGroup is the group by which the containers of a unit share files where not all
// of them run as root. Source: docs/spec/containers.md §5.3.
const podGroup = 170

// pod is what the agent of a container unit has beside that of a machine's.
type pod struct {
	containers *workload.Unit
	// made says of what the containers were made; empty: they weren't yet.
	made  string
	names []string

	mu   sync.Mutex
	told map[string]time.Time // see workload.Options.Told
}

// newPod is the pod of a container unit, with what agents before this one have
// left running.
func (u *unit) newPod() *pod {
	p := &pod{told: map[string]time.Time{}}
	p.containers = workload.New(workload.Options{
		Cells: u.cells, Images: &oci.Cache{Dir: ImagesDir(u.dataDir), Disk: u.disk}, Clock: u.clock, Disk: u.disk,
		Log: u.log.With("unit", u.name), Pebble: workload.FindPebble, Changed: u.poke, Told: p.toldOf,
	})
	return p
}

// ImagesDir is where an agent whose directory is dir has the images of containers.
func ImagesDir(dir string) string { return filepath.Join(dir, "images") }

func (p *pod) toldOf(container string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[container]
}

// hear notes what the charm was told.
func (p *pod) hear(l resolver.Local) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, w := range l.Workloads {
		p.told[name] = w.After
	}
}

// seePod has the containers of a container unit run, and adds them to what was
// seen of the model.
func (u *unit) seePod(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	if u.inPod == nil {
		return nil
	}
	u.inPod.hear(l)
	if err := u.makePod(ctx, s, l); err != nil {
		return errors.Trace(err)
	}
	u.seen.Workloads = u.inPod.seen()
	return nil
}

// makePod has the containers run that the unit's charm has, once the storage is
// there that the unit was deployed with.
func (u *unit) makePod(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	url := cmp.Or(l.Charm, s.Application.Charm)
	made := fmt.Sprintf("%s %d", url, l.Pod)
	c := u.cell.Load()
	if u.inPod.made == made || c == nil || s.Unit.Life == model.Dying && u.inPod.made == "" {
		return nil
	}
	for _, v := range s.Storage {
		if v.Attachment.Initial && !v.Attachment.Ready {
			return nil
		}
	}
	doc, err := u.model.Charm(ctx, url)
	if err != nil {
		return errors.Trace(err)
	}
	want, err := u.containersOf(ctx, s, doc.Charm, l.Pod)
	if err != nil {
		return errors.Trace(err)
	}
	if err := u.disk.MkdirAll(u.containersDir(), 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := c.Attach("containers", u.containersDir(), charmContainers); err != nil {
		return errors.Trace(err)
	}
	if err := u.inPod.containers.Set(ctx, c.Cell, want); err != nil {
		return errors.Trace(err)
	}
	u.inPod.made, u.inPod.names = made, doc.Charm.ContainerNames()
	return nil
}

func (u *unit) containersDir() string { return filepath.Join(u.dir, "containers") }

// containersOf are the workload containers of a charm, as the unit has them.
// Source: docs/spec/containers.md §4, §5.
func (u *unit) containersOf(ctx context.Context, s *state.Snapshot, charm model.Charm, pod int) ([]workload.Container, error) {
	var all []workload.Container
	key := CellKey(u.model.UUID(), u.name)
	for i, name := range charm.ContainerNames() {
		spec := charm.Containers[name]
		image, err := u.model.Image(ctx, s.Application.Name, spec.Resource)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot have the image of container %s", name)
		}
		reference, err := oci.Parse(image.Reference)
		if err != nil {
			return nil, errors.Trace(err)
		}
		dir := filepath.Join(u.containersDir(), name)
		all = append(all, workload.Container{
			Name: name, Key: isolate.ContainerKey(key, name), ID: fmt.Sprintf("%s/%d", u.id, pod),
			Image: oci.Source{Reference: reference, Username: image.Username, Password: image.Password}, Digest: image.Digest,
			Port: workload.FirstPort + i, User: userOf(charm, spec), Dir: dir, Log: dir + ".log", Data: u.dataDir,
			Binds: u.mountsOf(s, spec),
		})
	}
	return all, nil
}

// userOf is whom a container's processes run as.
func userOf(charm model.Charm, spec model.ContainerSpec) workload.User {
	user := workload.User{UID: spec.UID, GID: spec.GID, Image: charm.CharmUser != ""}
	for _, c := range charm.Containers {
		user.Image = user.Image || c.UID != nil || c.GID != nil
	}
	if user.Image {
		user.Groups = []int{podGroup}
	}
	return user
}

// mountsOf is the storage that a container has, as the unit was deployed: what is
// added later is the charm's alone. Source: docs/spec/containers.md §5.4, §6.
func (u *unit) mountsOf(s *state.Snapshot, spec model.ContainerSpec) []isolate.Bind {
	var binds []isolate.Bind
	for _, m := range spec.Mounts {
		for _, v := range s.Storage {
			if v.Attachment.Initial && v.ID.Name() == m.Storage && v.Kind == model.Filesystem {
				from := storage.FileSystem(StorageDir(u.dataDir, u.model.UUID()), v.ID)
				binds = append(binds, isolate.Bind{From: from, To: m.Location})
			}
		}
	}
	return binds
}

// seen are the containers as the resolver reads them.
func (p *pod) seen() []resolver.Workload {
	states := p.containers.States()
	var all []resolver.Workload
	for _, name := range p.names {
		w := resolver.Workload{Container: name}
		if i := slices.IndexFunc(states, func(s workload.State) bool { return s.Name == name }); i >= 0 {
			w.Boot, w.Since = states[i].Pebble.Boot, states[i].Pebble.Since
			for _, e := range states[i].Events {
				w.Notices = append(w.Notices, noticeOf(e))
			}
		}
		all = append(all, w)
	}
	return all
}

// noticeOf is an event of Pebble's as the resolver reads it.
func noticeOf(e workload.Event) resolver.Notice {
	kind := hooks.PebbleCustomNotice
	switch e.Kind {
	case pebble.EventCheckFailed:
		kind = hooks.PebbleCheckFailed
	case pebble.EventCheckRecovered:
		kind = hooks.PebbleCheckRecovered
	}
	return resolver.Notice{ID: e.ID, Type: e.Type, Key: e.Key, Kind: kind, Check: e.Check, LastRepeated: e.LastRepeated, Seen: e.Seen}
}
