package machine

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/kube"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/names"
	"github.com/unitd/unitd/oci"
	"github.com/unitd/unitd/pebble"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/storage"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/workload"
)

// pod is what the agent of a container unit has beside that of a machine's.
type pod struct {
	containers *workload.Unit
	// made is the number of the pod that the containers are of.
	made  int
	names []string
	// livesAs is the charm as whose users the unit lives; shares: they share files by
	// their group. See liveAs.
	livesAs string
	shares  bool

	// account is the unit's service account, template that of the containers.
	account  account
	template atomic.Pointer[podTemplate]

	mu   sync.Mutex
	told map[string]time.Time // see workload.Options.Told

	showing showing
	ahead   ahead
}

// enterPod makes the unit one with containers, until leave is called.
func (u *unit) enterPod(ctx context.Context) (leave func(), err error) {
	pod, err := u.newPod(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	u.inPod = pod
	hide := u.showPod(ctx)
	exit := u.cluster.enter(u.name, pod.facts)
	end := u.containers.enter(u.podKey(), pod.containers)
	return func() {
		defer pod.containers.Close()
		defer pod.ahead.end()
		defer hide()
		defer exit()
		defer pod.account.close()
		end()
	}, nil
}

// newPod is the pod of a container unit, with what agents before this one have
// left running.
func (u *unit) newPod(ctx context.Context) (*pod, error) {
	found, err := u.model.Containers(ctx, u.name)
	if err != nil {
		return nil, errors.Trace(err)
	}
	p := &pod{made: noPod, showing: newShowing(found)}
	p.containers = workload.New(workload.Options{
		Cells: u.cells, Images: u.images(), Clock: u.clock, Disk: u.disk,
		Log: u.log.With("unit", u.name), Pebble: workload.FindPebble, Changed: u.podChanged, Told: p.toldOf,
		Environ: p.account.environ,
		Mask:    u.mask.text,
		Read:    u.idle, Held: func(name string) bool { return u.containers.isHeld(containerKey{u.podKey(), name}) },
	})
	u.ready.watch(p.containers, noPod)
	return p, nil
}

// images is the cache of the containers' images.
func (u *unit) images() *oci.Cache {
	c := u.containers.images(ImagesDir(u.dataDir), u.disk)
	counted := c.Progress
	c.Progress = func(p oci.Progress) {
		if counted != nil {
			counted(p)
		}
		u.desire.telling.fetching(p)
		if u.observer != nil {
			u.observer(Event{Kind: ImageFetch, Unit: u.name, Model: u.model.Name(), Image: p})
		}
	}
	return c
}

// podChanged is called when something has changed in a container: the agent looks,
// and people are told.
func (u *unit) podChanged() {
	u.coming.Store(u.inPod.coming())
	u.poke()
	u.ready.poke()
	u.cluster.changed()
	select {
	case u.inPod.showing.changed <- struct{}{}:
	default:
	}
}

// facts is what is known of the pod beside what the model has.
func (p *pod) facts() podFacts {
	f := podFacts{containers: p.containers.States()}
	if t := p.template.Load(); t != nil {
		f.template = t.Template
	}
	return f
}

// watchReady has the model told of the unit's pod until what it returns is called.
func (u *unit) watchReady(ctx context.Context) (end func()) {
	if u.ready == nil {
		return func() {}
	}
	ctx, stop := context.WithCancel(ctx)
	var wait sync.WaitGroup
	wait.Go(func() { u.ready.run(ctx) })
	return func() {
		stop()
		wait.Wait()
	}
}

func (p *pod) toldOf(container string) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.told[container]
}

// hear notes what the charm was told.
func (p *pod) hear(l resolver.Local) {
	p.showing.hear(l)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.told = map[string]time.Time{}
	for name, w := range l.Workloads {
		p.told[name] = w.After
	}
}

// seePod has the containers of a container unit run, and adds them to what was
// seen of the model.
func (u *unit) seePod(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	if u.ready == nil {
		return nil
	}
	u.ready.hear(l)
	if l.Untouched() && s.Pod.Has != s.Pod.Wanted.Number {
		if err := u.ready.take(ctx, s.Pod.Wanted.Number); err != nil {
			return errors.Trace(err)
		}
		pod, err := u.model.Pod(ctx, u.name) // which may have become another one until then
		if err != nil {
			return errors.Trace(err)
		}
		s.Pod = pod
	}
	if u.inPod == nil {
		return nil
	}
	u.inPod.hear(l)
	if err := u.makePod(ctx, s, l); err != nil {
		return errors.Trace(err)
	}
	if err := u.seeNext(ctx, s, l); err != nil {
		return errors.Trace(err)
	}
	u.seen.Workloads = u.inPod.seen(l)
	u.coming.Store(u.inPod.coming())
	u.tellContainers(ctx)
	return nil
}

// makePod has the containers run of the pod that the unit has, once the storage is
// there that the unit was deployed with. Where the journal knows of another pod than
// the model, that is being replaced, and nothing of it is started any more.
func (u *unit) makePod(ctx context.Context, s *state.Snapshot, l resolver.Local) error {
	has, known := s.Pod.Had()
	c := u.cell.Load()
	switch {
	case !known || has.Number != l.Pod && !l.Untouched(), u.inPod.made == has.Number:
		return nil
	case c == nil, s.Unit.Life == model.Dying && u.inPod.made == noPod:
		return nil
	}
	for _, v := range s.Storage {
		if v.Attachment.Initial && !v.Attachment.Ready {
			return nil
		}
	}
	doc, err := u.model.Charm(ctx, has.Charm)
	if err != nil {
		return errors.Trace(err)
	}
	if err := u.liveAs(ctx, has.Charm); err != nil {
		return errors.Trace(err)
	}
	template, err := u.templateOf(ctx, has)
	if err != nil {
		return errors.Trace(err)
	}
	want, err := u.containersOf(ctx, s, doc.Charm, has, template)
	if err != nil {
		return errors.Trace(err)
	}
	if err := u.furnishPod(c, s); err != nil {
		return errors.Trace(err)
	}
	if err := c.Attach(containersDir, u.containersDir(), charmContainers); err != nil {
		return errors.Trace(err)
	}
	if err := u.lendPebble(c); err != nil {
		return errors.Trace(err)
	}
	if err := u.dropTaps(c, doc.Charm.ContainerNames()); err != nil {
		return errors.Trace(err)
	}
	u.inPod.showing.want(want, has.Number)
	if err := u.inPod.containers.Set(ctx, c.Cell, want); err != nil {
		return errors.Trace(err)
	}
	u.inPod.template.Store(&template)
	u.inPod.made, u.inPod.names = has.Number, doc.Charm.ContainerNames()
	u.ready.watch(u.inPod.containers, has.Number)
	return nil
}

// replace is the Replace door: of the unit's former pod nothing is left but its
// storage, and what is in the charm container beside the charm. It can be called
// again where it was cut off.
func (u *unit) replace(ctx context.Context, pod int) error {
	// First of all, so that nobody is sent to it who would find it gone.
	if err := u.ready.take(ctx, pod); err != nil {
		return errors.Trace(err)
	}
	if u.inPod != nil {
		u.inPod.made = noPod
		u.inPod.showing.want(nil, noPod)
		if err := u.inPod.containers.Remove(ctx); err != nil {
			return errors.Trace(err)
		}
	}
	if err := u.removeLeft(ctx); err != nil {
		return errors.Trace(err)
	}
	entries, err := os.ReadDir(u.containersDir())
	if err != nil && !os.IsNotExist(err) {
		return errors.Trace(err)
	}
	for _, e := range entries { // the directory itself is seen in the charm container
		for _, path := range []string{u.containerLog(e.Name()), filepath.Join(u.containersDir(), e.Name())} {
			if err := charmdir.RemoveTree(u.disk, path); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return errors.Trace(u.charm.Remove())
}

// removeLeft ends the containers that a former agent has left and that this one
// hasn't taken over, and removes what there is of them.
func (u *unit) removeLeft(ctx context.Context) error {
	keys, err := u.cells.Keys()
	if err != nil {
		return errors.Trace(err)
	}
	own := CellKey(u.model.UUID(), u.name)
	for _, key := range keys {
		if unit, container := isolate.CutContainer(key); unit != own || container == "" {
			continue
		}
		left, err := u.cells.Find(key)
		if err == nil {
			err = left.Stop(ctx, workload.Grace)
		}
		if err == nil || errors.Is(err, errors.NotFound) {
			err = u.cells.Remove(key)
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// containersOf are the workload containers of a charm, as the unit has them in a pod.
// Source: docs/spec/containers.md §4, §5.
func (u *unit) containersOf(ctx context.Context, s *state.Snapshot, charm model.Charm, pod state.Pod, template podTemplate) ([]workload.Container, error) {
	var all []workload.Container
	key := CellKey(u.model.UUID(), u.name)
	for i, name := range charm.ContainerNames() {
		spec := charm.Containers[name]
		image, err := u.model.PodImage(ctx, s.Application.Name, pod, spec.Resource)
		if err != nil {
			return nil, errors.Annotatef(err, "cannot get the image of container %s", name)
		}
		reference, err := oci.Parse(image.Reference)
		if err != nil {
			return nil, errors.Trace(err)
		}
		dir := filepath.Join(u.containersDir(), name)
		one := workload.Container{
			Name: name, Hostname: names.Host(u.name), Key: isolate.ContainerKey(key, name), ID: fmt.Sprintf("%s/%d/%s", u.id, pod.Number, image.Digest),
			Image: oci.Source{Reference: reference, Username: image.Username, Password: image.Password}, Digest: image.Digest,
			Port: workload.FirstPort + i, User: userOf(charm, spec), Dir: dir, Log: u.containerLog(name), Data: u.dataDir,
			Identities: u.identitiesPath(),
			Binds:      append(append(u.mountsOf(s, spec), u.nameBinds()...), isolate.Bind{From: u.accountDir(), To: kube.AccountDir, ReadOnly: true, Theirs: true}),
		}
		template.apply(&one)
		all = append(all, one)
	}
	return all, nil
}

// mountsOf is the storage that a container has, as the unit was deployed: what is
// added later is the charm's alone. Source: docs/spec/containers.md §5.4, §6.
func (u *unit) mountsOf(s *state.Snapshot, spec model.ContainerSpec) []isolate.Bind {
	var binds []isolate.Bind
	for _, m := range spec.Mounts {
		for _, v := range s.Storage {
			if v.Attachment.Initial && v.ID.Name() == m.Storage && v.Kind == model.Filesystem {
				from := storage.FileSystem(StorageDir(u.dataDir, u.model.UUID()), v.ID)
				binds = append(binds, isolate.Bind{From: from, To: m.Location, ReadOnly: v.ReadOnly})
			}
		}
	}
	return binds
}

// seen are the containers as the resolver reads them; as the charm knows them where
// this agent doesn't look after them.
func (p *pod) seen(l resolver.Local) []resolver.Workload {
	if p.made == noPod {
		return resolver.AsTold(l)
	}
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
