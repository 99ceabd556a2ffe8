package kube

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"
)

const (
	// keptChanges is how many changes a watch can be resumed from.
	keptChanges = 1000
	// bookmarkEvery is how often a watch in which nothing happens says how far
	// it is.
	bookmarkEvery = time.Minute
	// watchTime is how long a watch lasts that doesn't say.
	watchTime = 30 * time.Minute
)

// state is what there is, at one resource version. It isn't changed.
type state struct {
	namespace string
	model     Model
	rev       int64 // the resource version
	storeRev  int64
	objects   map[string]held
}

func (s state) version() string { return strconv.FormatInt(s.rev, 10) }

// change is one change of one object.
type change struct {
	rev           int64
	before, after held
}

// Cluster is what the servers of a model's units have in common: it turns what there
// is into resource versions and changes, by comparing each time that it looks. A
// version is a number that only grows: it begins with the clock, so that a later
// process doesn't give a former one's numbers again. It is safe for use by many
// goroutines.
type Cluster struct {
	source  Objects
	clock   clock.Clock
	writing sync.Mutex // one write at a time
	mu      sync.Mutex
	now     state
	begun   bool
	first   int64 // changes after this version are known
	changes []change
	news    chan struct{} // closed at the next change
}

// NewCluster is that of the objects. By the clock are versions, times of creation,
// and how long a watch lasts.
func NewCluster(source Objects, c clock.Clock) *Cluster {
	t := &Cluster{source: source, clock: c, news: make(chan struct{})}
	t.now.rev = c.Now().UnixMicro()
	return t
}

// namespace is the model's name; "" where it can't be read.
func (t *Cluster) namespace(ctx context.Context) string {
	s, err := t.look(ctx)
	if err != nil {
		return ""
	}
	return s.namespace
}

// look reads what there is now.
func (t *Cluster) look(ctx context.Context) (state, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	v, err := t.source.View(ctx)
	if err != nil {
		return state{}, errors.Annotate(err, "cannot read the model's objects")
	}
	all, err := compose(v)
	if err != nil {
		return state{}, errors.Trace(err)
	}
	next := state{v.Model.Name, v.Model, t.now.rev, v.Rev, all}
	var changes []change
	for _, key := range slices.Sorted(maps.Keys(all)) {
		h, was := all[key], t.now.objects[key]
		if h.object == nil {
			continue
		}
		version := textAt(was.object, "metadata", "resourceVersion")
		h.object = versioned(h.object, version)
		if was.object == nil || !equal(h.object, was.object) {
			next.rev++
			h.object = versioned(h.object, next.version())
			changes = append(changes, change{next.rev, was, h})
		}
		all[key] = h
	}
	for _, key := range slices.Sorted(maps.Keys(t.now.objects)) {
		if was := t.now.objects[key]; was.object != nil && all[key].object == nil {
			next.rev++
			changes = append(changes, change{rev: next.rev, before: was})
		}
	}
	t.advance(next, changes)
	return t.now, nil
}

// versioned is a copy of the object with that version; one level deep is enough
// to leave the original as it is.
func versioned(o object, version string) object {
	c := maps.Clone(o)
	md := maps.Clone(objectAt(o, "metadata"))
	md["resourceVersion"] = version
	c["metadata"] = md
	return c
}

func (t *Cluster) advance(next state, changes []change) {
	t.now = next
	if !t.begun { // what there was before isn't known
		t.begun, t.first = true, next.rev
		return
	}
	if len(changes) == 0 {
		return
	}
	t.changes = append(t.changes, changes...)
	if over := len(t.changes) - keptChanges; over > 0 {
		t.first = t.changes[over-1].rev
		t.changes = slices.Delete(t.changes, 0, over)
	}
	close(t.news)
	t.news = make(chan struct{})
}

// since has the changes after that version, the version that they lead to, and
// what is closed at the next change; false where they aren't known any more.
func (t *Cluster) since(rev int64) ([]change, int64, <-chan struct{}, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if rev < t.first || rev > t.now.rev {
		return nil, 0, nil, false
	}
	i, _ := slices.BinarySearchFunc(t.changes, rev+1, func(c change, r int64) int { return int(c.rev - r) })
	return slices.Clone(t.changes[i:]), t.now.rev, t.news, true
}

// watcher is one watch.
type watcher struct {
	filter
	w         http.ResponseWriter
	bookmarks bool
	rev       int64
}

// watch answers with changes as they come.
func (s *Server) watch(w http.ResponseWriter, q *request) error {
	ctx, cancel := context.WithCancel(q.Context())
	defer cancel()
	f, err := parseFilter(q, s.config.Application)
	if err != nil {
		return errors.Trace(err)
	}
	query := q.URL.Query()
	lasts := watchTime
	if n, err := strconv.Atoi(query.Get("timeoutSeconds")); err == nil && n > 0 {
		lasts = time.Duration(n) * time.Second
	}
	from := query.Get("resourceVersion")
	rev, err := strconv.ParseInt(from, 10, 64)
	if err != nil && from != "" {
		return badRequest("invalid resource version %q", from)
	}
	st, err := s.config.Cluster.look(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	pokes, err := s.config.Cluster.source.Watch(ctx, st.storeRev)
	if err != nil {
		return errors.Trace(err)
	}
	end := s.config.Cluster.clock.NewTimer(lasts)
	defer end.Stop()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	one := &watcher{filter: f, w: w, bookmarks: isTrue(query.Get("allowWatchBookmarks")), rev: rev}
	if rev == 0 {
		one.begin(st, isTrue(query.Get("sendInitialEvents")))
	}
	return errors.Trace(s.follow(ctx, one, pokes, end))
}

// follow sends changes until the watch is over.
func (s *Server) follow(ctx context.Context, one *watcher, pokes <-chan int64, end clock.Timer) error {
	bookmark := s.config.Cluster.clock.NewTimer(bookmarkEvery)
	defer bookmark.Stop()
	for {
		changes, rev, news, ok := s.config.Cluster.since(one.rev)
		if !ok {
			one.send("ERROR", expired(strconv.FormatInt(one.rev, 10)).status())
			return nil
		}
		for _, c := range changes {
			one.tell(c)
		}
		one.rev = rev
		one.flush()
		select {
		case <-ctx.Done():
			return nil
		case <-end.Chan():
			return nil
		case <-news:
		case <-bookmark.Chan():
			one.bookmark(false)
			bookmark.Reset(bookmarkEvery)
		case _, ok := <-pokes:
			if !ok {
				return nil
			}
			if _, err := s.config.Cluster.look(ctx); err != nil {
				s.config.Log("kubernetes API: a watch ends: " + err.Error())
				return nil
			}
		}
	}
}

// begin tells of all that there is.
func (o *watcher) begin(st state, marked bool) {
	for _, key := range slices.Sorted(maps.Keys(st.objects)) {
		if h := st.objects[key]; o.takes(h) {
			o.send("ADDED", h.object)
		}
	}
	o.rev = st.rev
	if marked {
		o.bookmark(true)
	}
}

// tell sends a change as it is for those who see only what the filter takes.
func (o *watcher) tell(c change) {
	was, is := o.takes(c.before), o.takes(c.after)
	switch {
	case was && is:
		o.send("MODIFIED", c.after.object)
	case is:
		o.send("ADDED", c.after.object)
	case was:
		o.send("DELETED", versioned(c.before.object, strconv.FormatInt(c.rev, 10)))
	}
}

func (o *watcher) bookmark(initial bool) {
	if !o.bookmarks {
		return
	}
	md := object{"resourceVersion": strconv.FormatInt(o.rev, 10)}
	if initial {
		md["annotations"] = object{"k8s.io/initial-events-end": "true"}
	}
	o.send("BOOKMARK", object{"kind": o.kind.name, "apiVersion": o.kind.apiVersion(), "metadata": md})
}

func (o *watcher) send(event string, what object) {
	_, _ = o.w.Write(append(encode(object{"type": event, "object": what}), '\n')) // the context says when the client has gone
	if event == "ERROR" {
		o.flush()
	}
}

func (o *watcher) flush() {
	_ = http.NewResponseController(o.w).Flush() // as above
}
