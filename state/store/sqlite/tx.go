package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// querier is what a prepared connection answers.
type querier interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// reader is a store.Reader on one snapshot of the database.
type reader struct {
	// ctx is that of statements after the first, which nothing interrupts: each would need
	// goroutines for that, and take longer to begin than to be carried out. So the caller's
	// is looked at between them, and between the keys of a list; nil: it isn't.
	ctx, caller context.Context
	tx          querier
	rev         int64
	// now is by elapsed: keys of leases that are over by then aren't there. alive is
	// what elapsed has of that; since: a lease is over, too, where it is long before it
	// was kept alive last.
	now   int64
	alive string
	since bool
	// open begins to read what isn't in memory, where tx is nil.
	open func(context.Context) (*prepared, func(), error)
	// compacted is the revision up to which changes are forgotten.
	compacted int64
	// known is what is in memory of that revision; nil: nothing is. own are the keys
	// that a transaction has written there.
	known *picture
	own   map[string]int
}

// head is the first statement, the one that may have to wait for a lock: until ctx ends.
func (r *reader) head(ctx context.Context) error {
	return errors.Trace(r.tx.QueryRowContext(ctx, "SELECT rev, compacted FROM head").Scan(&r.rev, &r.compacted))
}

// left is the error of a caller that doesn't wait for the answer any more.
func (r *reader) left() error {
	if r.caller == nil {
		return nil
	}
	return errors.Trace(r.caller.Err())
}

// live leaves out keys whose lease has expired and wasn't cleared away yet.
func (r *reader) live() string {
	return " AND (lease = 0 OR EXISTS (SELECT 1 FROM lease WHERE id = kv.lease AND " + r.alive + "))"
}

// Get is part of store.Reader.
func (r *reader) Get(key string) (store.KV, error) {
	kv := store.KV{Key: key}
	if err := r.left(); err != nil {
		return kv, errors.Annotatef(err, "cannot read key %q", key)
	}
	if r.knows() {
		e := r.known.get(key)
		if e == nil {
			return store.KV{}, errors.NotFoundf("key %q", key)
		}
		return r.whole(e)
	}
	err := r.tx.QueryRowContext(r.ctx, "SELECT value, rev, created, lease FROM kv WHERE key = ?"+r.live(), key, r.now).
		Scan(&kv.Value, &kv.Rev, &kv.CreateRev, &kv.Lease)
	if errors.Is(err, sql.ErrNoRows) {
		return store.KV{}, errors.NotFoundf("key %q", key)
	}
	return kv, errors.Annotatef(err, "cannot read key %q", key)
}

// List is part of store.Reader.
func (r *reader) List(prefix string) ([]store.KV, error) { return r.Page(prefix, "", -1) }

// Page is part of store.Reader.
func (r *reader) Page(prefix, after string, limit int) ([]store.KV, error) {
	if r.knows() {
		kvs, err := r.wholes(r.known.page(prefix, after, limit), true)
		return kvs, errors.Annotatef(err, "cannot list keys below %q", prefix)
	}
	return r.page("value", "lease", prefix, after, limit)
}

// Keys is part of store.Reader.
func (r *reader) Keys(prefix, after string, limit int) ([]store.KV, error) {
	if r.knows() {
		kvs, err := r.wholes(r.known.page(prefix, after, limit), false)
		return kvs, errors.Annotatef(err, "cannot list keys below %q", prefix)
	}
	return r.page("NULL", "0", prefix, after, limit)
}

// knows says whether what is read is in memory, with the keys that have leases.
func (r *reader) knows() bool { return r.known != nil && r.known.alive(r.now) }

// whole is a key with its value, which may have to be read from the file: by its
// revision, as others may write meanwhile.
func (r *reader) whole(e *entry) (store.KV, error) {
	kv := e.KV
	if !e.large {
		return kv, nil
	}
	from := querier(nil)
	if r.tx != nil {
		from = r.tx
	} else {
		p, end, err := r.open(r.ctx)
		if err != nil {
			return store.KV{}, errors.Annotatef(err, "cannot read key %q", kv.Key)
		}
		defer end()
		from = p
	}
	err := from.QueryRowContext(r.ctx, "SELECT value FROM kv WHERE key = ? AND rev = ?", kv.Key, kv.Rev).Scan(&kv.Value)
	if errors.Is(err, sql.ErrNoRows) {
		return store.KV{}, errors.NewTimeout(nil, fmt.Sprintf("cannot read key %q: it was written meanwhile", kv.Key))
	}
	return kv, errors.Annotatef(err, "cannot read key %q", kv.Key)
}

// wholes are many keys, with or without their values and leases.
func (r *reader) wholes(found []*entry, values bool) (kvs []store.KV, err error) {
	if err := r.left(); err != nil {
		return nil, errors.Trace(err)
	}
	for _, e := range found {
		kv := e.KV
		if values {
			if kv, err = r.whole(e); err != nil {
				return nil, errors.Trace(err)
			}
		} else {
			kv.Value, kv.Lease = nil, 0
		}
		kvs = append(kvs, kv)
	}
	return kvs, nil
}

// page reads a page with expressions for its values and leases.
func (r *reader) page(value, lease, prefix, after string, limit int) ([]store.KV, error) {
	// One lower bound, as SQLite would look up one of two and then read all
	// between them. The first key after another has a space more.
	first := prefix
	if after >= prefix && after != "" {
		first = after + " "
	}
	return r.list(prefix, "SELECT key, "+value+", rev, created, "+lease+" FROM kv WHERE key >= ? AND key < ?"+r.live()+" ORDER BY key LIMIT ?",
		first, prefixEnd(prefix), r.now, limit)
}

// Since is part of store.Reader. What has changed is looked up among the
// changes; where they are forgotten, among all keys.
func (r *reader) Since(prefix string, rev int64) ([]store.KV, error) {
	if r.knows() {
		kvs, err := r.wholes(r.known.changed(prefix, rev, r.own), true)
		return kvs, errors.Annotatef(err, "cannot list keys below %q", prefix)
	}
	if rev < r.compacted {
		return r.list(prefix, "SELECT key, value, rev, created, lease FROM kv WHERE key >= ? AND key < ? AND rev > ?"+r.live()+" ORDER BY key",
			prefix, prefixEnd(prefix), rev, r.now)
	}
	return r.list(prefix, "SELECT key, value, rev, created, lease FROM kv WHERE key IN (SELECT key FROM change WHERE rev > ? AND key >= ? AND key < ?)"+r.live()+" ORDER BY key",
		rev, prefix, prefixEnd(prefix), r.now)
}

// list is the keys that a query finds below prefix.
func (r *reader) list(prefix, query string, args ...any) ([]store.KV, error) {
	rows, err := r.tx.QueryContext(r.ctx, query, args...)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot list keys below %q", prefix)
	}
	defer rows.Close()
	var kvs []store.KV
	for rows.Next() {
		if err := r.left(); err != nil {
			return nil, errors.Annotatef(err, "cannot list keys below %q", prefix)
		}
		var kv store.KV
		if err := rows.Scan(&kv.Key, &kv.Value, &kv.Rev, &kv.CreateRev, &kv.Lease); err != nil {
			return nil, errors.Annotatef(err, "cannot list keys below %q", prefix)
		}
		kvs = append(kvs, kv)
	}
	return kvs, errors.Annotatef(rows.Err(), "cannot list keys below %q", prefix)
}

// prefixEnd is the first key after all that begin with prefix. Keys are
// printable ASCII, so the byte after them all is never one of theirs.
func prefixEnd(prefix string) string { return prefix + "\x7f" }

// Rev is part of store.Reader.
func (r *reader) Rev() int64 { return r.rev }

// transaction is a store.Tx inside a BEGIN IMMEDIATE of the writer.
type transaction struct {
	reader
	w *writer
	// touched are the keys that fn wrote, by what that has of bytes; own has them too
	// where there is a picture, which is the transaction's own once it has written.
	mirror  *mirror
	touched map[string]int
	size    int   // of all of them
	ended   bool  // whether keys of leases were removed
	err     error // the first that a statement gave; nothing is committed then
}

func (t *transaction) exec(query string, args ...any) error {
	_, err := t.affected(query, args...)
	return err
}

func (t *transaction) affected(query string, args ...any) (int64, error) {
	stmt, err := t.w.prepare(t.ctx, query)
	if err != nil {
		return 0, t.failed(err)
	}
	res, err := stmt.ExecContext(t.ctx, args...)
	if err != nil {
		return 0, t.failed(err)
	}
	n, err := res.RowsAffected()
	return n, t.failed(err)
}

func (t *transaction) failed(err error) error {
	if err != nil && t.err == nil {
		t.err = errors.Trace(err)
	}
	return errors.Trace(err)
}

func (t *transaction) row(query string, args ...any) *sql.Row {
	return t.tx.QueryRowContext(t.ctx, query, args...)
}

// Put is part of store.Tx.
func (t *transaction) Put(key string, value []byte) error { return t.PutLease(key, value, 0) }

// PutLease is part of store.Tx.
func (t *transaction) PutLease(key string, value []byte, lease store.LeaseID) error {
	if len(value) > store.MaxValue {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "value of key %q has %d bytes", key, len(value)))
	}
	if lease != 0 {
		var n int
		if err := t.row("SELECT count(*) FROM lease WHERE id = ? AND "+t.alive, lease, t.now).Scan(&n); err != nil {
			return t.failed(err)
		}
		if n == 0 {
			return errors.NotFoundf("lease %d", lease)
		}
	}
	if err := t.touch(key, len(key)+len(value), false); err != nil {
		return errors.Trace(err)
	}
	if value == nil {
		value = []byte{}
	}
	if p := t.draw(); p != nil {
		p.put(key, slices.Clone(value), t.rev+1, lease)
	}
	return t.exec(`INSERT INTO kv VALUES (?, ?, ?, ?, ?)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, rev = excluded.rev, lease = excluded.lease`,
		key, value, t.rev+1, t.rev+1, lease)
}

// Delete is part of store.Tx.
func (t *transaction) Delete(key string) error {
	n, err := t.affected("DELETE FROM kv WHERE key = ?", key)
	if err != nil || n == 0 {
		return errors.Trace(err)
	}
	if p := t.draw(); p != nil {
		p.delete(key)
	}
	return t.touch(key, len(key), true)
}

// draw is the picture that the transaction draws what it writes into; nil: there is none.
func (t *transaction) draw() *picture {
	if t.known != nil && t.own == nil {
		t.known, t.own = t.mirror.forWriting(t.known), t.touched
	}
	return t.known
}

// touch records the change for those who watch, and its size in bytes.
func (t *transaction) touch(key string, size int, deleted bool) error {
	if err := store.CheckKey(key); err != nil {
		return t.failed(err)
	}
	t.size += size - t.touched[key]
	t.touched[key] = size
	if len(t.touched) > store.MaxWrites {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d keys written", store.MaxWrites))
	}
	if t.size > store.MaxBytes {
		return t.failed(errors.Annotatef(store.ErrTooLarge, "more than %d bytes written", store.MaxBytes))
	}
	return t.exec("INSERT INTO change VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET deleted = excluded.deleted", t.rev+1, key, deleted)
}

// endLease removes a lease with its keys.
func (t *transaction) endLease(id int64) error {
	if id == 0 {
		return nil // the mark of every key that has no lease
	}
	t.known = nil // which keys end is for SQLite to find, by its index of those with leases
	if _, err := t.affected("INSERT INTO change SELECT ?, key, 1 FROM kv WHERE lease = ? AND lease != 0 ON CONFLICT DO UPDATE SET deleted = 1", t.rev+1, id); err != nil {
		return errors.Trace(err)
	}
	n, err := t.affected("DELETE FROM kv WHERE lease = ? AND lease != 0", id)
	if err != nil {
		return errors.Trace(err)
	}
	if n > 0 {
		t.ended = true
	}
	return t.exec("DELETE FROM lease WHERE id = ?", id)
}

// expire ends the leases that are over.
func (t *transaction) expire() error {
	return t.endLeases("SELECT id FROM lease WHERE NOT "+t.alive, t.now)
}

// endLeases ends those that a query finds.
func (t *transaction) endLeases(query string, args ...any) error {
	rows, err := t.tx.QueryContext(t.ctx, query, args...)
	if err != nil {
		return t.failed(err)
	}
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			rows.Close()
			return t.failed(err)
		}
		ids = append(ids, id)
	}
	if err := rows.Err(); err != nil {
		return t.failed(err)
	}
	for _, id := range ids {
		if err := t.endLease(id); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// advance gives what was written its revision, and drops old history when it
// is time.
func (t *transaction) advance() error {
	t.rev++
	if err := t.exec("UPDATE head SET rev = ?", t.rev); err != nil {
		return errors.Trace(err)
	}
	if t.rev%trimEvery == 0 && t.rev > keepRevisions {
		return t.compact(t.rev - keepRevisions)
	}
	return nil
}

func (t *transaction) compact(rev int64) error {
	if err := t.exec("DELETE FROM change WHERE rev <= ?", rev); err != nil {
		return errors.Trace(err)
	}
	return t.exec("UPDATE head SET compacted = max(compacted, ?)", rev)
}
