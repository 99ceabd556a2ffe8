package sqlite

import (
	"maps"
	"math"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/google/btree"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// A program that reads the store time and again, as an agent does, has what is in
// it in memory as well: a question to SQLite takes tens of microseconds, and the
// look of one unit asks two dozen. What is read is the same. Each View learns from the
// side file, see progress, whether the store is still at the revision that is in
// memory. Where it isn't, the View asks SQLite for the newest revision and for the keys
// that were written since, in one read transaction. All else it answers as of that
// revision from memory.
const (
	// mirrorAfter is how many reads there are before a program has the keys in
	// memory: a command that ends after a few never does.
	mirrorAfter = 200
	// mirrorValue is the size in bytes of the largest value in memory. What is larger
	// is most often a part of a charm or of a resource, which is read seldom.
	mirrorValue = 256 << 10
	// mirrorChanges is how many of the newest changes are known by their revision,
	// at least, once there were as many.
	mirrorChanges = 4096
)

// mirror is what a Store has in memory. It is safe for use by many goroutines.
type mirror struct {
	mu    sync.Mutex
	after int // how many reads are enough
	reads int // until there were enough
	last  *picture
	off   bool // see giveUp
}

// picture is what the store had at a revision. It never changes.
type picture struct {
	tree *btree.BTreeG[*entry]
	rev  int64
	// recent are the changes after revision since, by their revisions.
	recent []touched
	since  int64
	// from and until are the times between which all leases that keys have are alive,
	// as far as was seen: they are kept alive without a revision. They end with one.
	from, until int64
}

// entry is a key in memory. It never changes.
type entry struct {
	store.KV
	// large: the value is to be read from the file.
	large bool
}

// touched is a change of a key at a revision.
type touched struct {
	rev     int64
	key     string
	deleted bool
}

func before(a, b *entry) bool { return a.Key < b.Key }

// newEntry is an entry for what was read or written.
func newEntry(kv store.KV) *entry {
	e := &entry{KV: kv}
	if e.large = len(kv.Value) > mirrorValue; e.large {
		e.Value = nil
	}
	return e
}

// at is what the store has at the revision that r reads; nil: nobody knows, and r
// has to ask.
func (m *mirror) at(r *reader) *picture {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil {
		m.reads++
	}
	if m.off || m.reads < m.after {
		return nil
	}
	next, err := m.last, error(nil)
	switch {
	case next == nil || next.rev < r.compacted:
		next, err = filled(r)
	case next.rev < r.rev:
		next, err = next.follow(r)
	case next.rev > r.rev:
		return nil // somebody who began later was faster
	case !next.alive(r.now):
		again := *next
		next, err = &again, again.leases(r)
	}
	if err != nil {
		// Whoever asks the file for what he needs is told what is wrong with it. That may
		// pass, so it is tried again after as many reads as the first time took.
		m.last, m.reads = nil, 0
		return nil
	}
	m.last = next
	return next
}

// giveUp has the file asked from now on.
func (m *mirror) giveUp() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.off, m.last = true, nil
}

// now is what is in memory if that is what the store has at a time, as far as p tells;
// nil: the file is to be asked.
func (m *mirror) now(p *progress, now int64) *picture {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || !p.at(m.last.rev) || !m.last.alive(now) {
		return nil
	}
	return m.last
}

// alive says whether all leases that keys have are alive.
func (p *picture) alive(now int64) bool { return p.from <= now && now < p.until }

// leases finds out when the leases are alive.
func (p *picture) leases(r *reader) error {
	p.from, p.until = math.MinInt64, math.MaxInt64
	rows, err := r.tx.QueryContext(r.ctx, "SELECT ttl, expires FROM lease")
	if err != nil {
		return errors.Trace(err)
	}
	defer rows.Close()
	for rows.Next() {
		var ttl, expires int64
		if err := rows.Scan(&ttl, &expires); err != nil {
			return errors.Trace(err)
		}
		p.until = min(p.until, expires)
		if r.since {
			p.from = max(p.from, expires-ttl-int64(setBack))
		}
	}
	return errors.Trace(rows.Err())
}

// forWriting is a picture like p that may be changed.
func (m *mirror) forWriting(p *picture) *picture {
	m.mu.Lock()
	defer m.mu.Unlock()
	own := *p
	own.tree = p.tree.Clone()
	return &own
}

// wrote takes what a transaction made of a picture, once it has committed.
func (m *mirror) wrote(p *picture, rev int64, keys map[string]int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || m.last.rev != p.rev {
		return // somebody has read it from the file meanwhile, or will
	}
	if p.rev = rev; p.alive(p.from) {
		p.from, p.until = m.last.from, m.last.until
	}
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		p.recent = append(p.recent, touched{rev, key, !p.tree.Has(&entry{KV: store.KV{Key: key}})})
	}
	p.forget()
	m.last = p
}

// filled is a picture of all that is in the file.
func filled(r *reader) (*picture, error) {
	p := &picture{tree: btree.NewG(32, before), rev: r.rev, since: r.rev}
	const query = "SELECT key, CASE WHEN length(value) > ? THEN NULL ELSE value END, rev, created, lease FROM kv ORDER BY key"
	if err := p.read(r, query, mirrorValue); err != nil {
		return nil, errors.Trace(err)
	}
	return p, errors.Trace(p.leases(r))
}

// follow is p with what was written since, up to what r reads.
func (p *picture) follow(r *reader) (*picture, error) {
	next := &picture{tree: p.tree.Clone(), rev: r.rev, recent: p.recent, since: p.since}
	if err := next.leases(r); err != nil {
		return nil, errors.Trace(err)
	}
	const query = `SELECT change.key, CASE WHEN length(kv.value) > ? THEN NULL ELSE kv.value END, change.rev, change.deleted, coalesce(kv.rev, 0), coalesce(kv.created, 0), coalesce(kv.lease, 0)
		FROM change LEFT JOIN kv ON kv.key = change.key WHERE change.rev > ? ORDER BY change.rev, change.key`
	rows, err := r.tx.QueryContext(r.ctx, query, mirrorValue, p.rev)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		var t touched
		if err := rows.Scan(&e.Key, &e.Value, &t.rev, &t.deleted, &e.Rev, &e.CreateRev, &e.Lease); err != nil {
			return nil, errors.Trace(err)
		}
		t.key = e.Key
		next.recent = append(next.recent, t)
		if e.Rev == 0 {
			next.tree.Delete(&e)
			continue
		}
		e.large = e.Value == nil
		next.tree.ReplaceOrInsert(&e)
	}
	next.forget()
	return next, errors.Trace(rows.Err())
}

// read adds the keys that a query finds.
func (p *picture) read(r *reader, query string, args ...any) error {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return errors.Trace(err)
	}
	defer rows.Close()
	for rows.Next() {
		var e entry
		if err := rows.Scan(&e.Key, &e.Value, &e.Rev, &e.CreateRev, &e.Lease); err != nil {
			return errors.Trace(err)
		}
		e.large = e.Value == nil
		p.tree.ReplaceOrInsert(&e)
	}
	return errors.Trace(rows.Err())
}

// forget drops the oldest changes where there are many.
func (p *picture) forget() {
	if n := len(p.recent) - mirrorChanges; n > mirrorChanges {
		p.since = p.recent[n-1].rev
		p.recent = slices.Clone(p.recent[n:])
	}
}

// put is a write of a transaction, at the revision that it will have.
func (p *picture) put(key string, value []byte, rev int64, lease store.LeaseID) {
	if lease != 0 {
		p.from, p.until = math.MaxInt64, math.MinInt64 // to be found out
	}
	created := rev
	if former, ok := p.tree.Get(&entry{KV: store.KV{Key: key}}); ok {
		created = former.CreateRev
	}
	p.tree.ReplaceOrInsert(newEntry(store.KV{Key: key, Value: value, Rev: rev, CreateRev: created, Lease: lease}))
}

func (p *picture) delete(key string) { p.tree.Delete(&entry{KV: store.KV{Key: key}}) }

// events are the changes after a revision; false: it isn't known what they are.
func (p *picture) events(from int64) ([]store.Event, bool) {
	if from < p.since {
		return nil, false
	}
	var events []store.Event
	for _, t := range p.after(from) {
		events = append(events, store.Event{Key: t.key, Rev: t.rev, Deleted: t.deleted})
	}
	return events, true
}

// after are the changes after a revision that are known.
func (p *picture) after(rev int64) []touched {
	return p.recent[sort.Search(len(p.recent), func(i int) bool { return p.recent[i].rev > rev }):]
}

// get is an entry; nil: there is none.
func (p *picture) get(key string) *entry {
	e, _ := p.tree.Get(&entry{KV: store.KV{Key: key}})
	return e
}

// page is a page of entries, in order; limit < 0: all.
func (p *picture) page(prefix, after string, limit int) (found []*entry) {
	if limit == 0 {
		return nil
	}
	p.tree.AscendGreaterOrEqual(&entry{KV: store.KV{Key: max(prefix, after)}}, func(e *entry) bool {
		switch {
		case e.Key == after && after != "":
			return true
		case !strings.HasPrefix(e.Key, prefix):
			return false
		}
		found = append(found, e)
		return len(found) != limit
	})
	return found
}

// changed are the entries below a prefix that were written after a revision, in
// order. own are the keys that a transaction has written itself.
func (p *picture) changed(prefix string, rev int64, own map[string]int) (found []*entry) {
	if rev < p.since {
		return slices.DeleteFunc(p.page(prefix, "", -1), func(e *entry) bool { return e.Rev <= rev })
	}
	var keys []string
	for _, t := range p.after(rev) {
		if strings.HasPrefix(t.key, prefix) {
			keys = append(keys, t.key)
		}
	}
	for key := range own {
		if strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range slices.Compact(keys) {
		if e := p.get(key); e != nil {
			found = append(found, e)
		}
	}
	return found
}
