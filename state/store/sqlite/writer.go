package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/juju/errors"
	"modernc.org/sqlite"

	"github.com/unitd/unitd/state/store"
)

// keepRevisions is how much history watches can go back; trimEvery is how
// often, in revisions, what is older is dropped.
const (
	keepRevisions = 100_000
	trimEvery     = 1_000

	// lockTry is how long one attempt at SQLite's lock lasts, and so how late a
	// waiting Update may notice that its context is done.
	lockTry = 50 * time.Millisecond

	notOurs = "the file is not a store: move it away or name another data directory"

	codeBusy        = 5  // SQLITE_BUSY, whatever the extended code
	codeNotDatabase = 26 // SQLITE_NOTADB
)

// writer is the one connection of this Store that writes. Updates of one Store
// wait for their turn, those of several for SQLite's lock.
type writer struct {
	prepared
	turn   chan struct{} // holds one: who takes it may use the rest
	closed <-chan struct{}
	db     *sql.DB
}

// openWriter opens the database and makes its tables if it is new; by is the time of leases, and
// former that of Options. When ctx ends, so does the writer's waiting for locks.
func openWriter(ctx context.Context, path string, by elapsed, former func(store.Reader) error) (*writer, error) {
	db, err := sql.Open("sqlite", dsn(path))
	if err != nil {
		return nil, errors.Trace(err)
	}
	w := &writer{turn: make(chan struct{}, 1), closed: ctx.Done(), db: db}
	w.turn <- struct{}{}
	if w.conn, err = db.Conn(ctx); err != nil {
		db.Close()
		return nil, notADatabase(err)
	}
	if err := w.prepareFile(ctx, by, former); err != nil {
		w.Close()
		return nil, errors.Trace(err)
	}
	return w, nil
}

func (w *writer) prepareFile(ctx context.Context, by elapsed, former func(store.Reader) error) error {
	if err := w.refuse(ctx); err != nil {
		return errors.Trace(err)
	}
	for _, q := range []string{"PRAGMA journal_mode = WAL", "PRAGMA synchronous = FULL", "PRAGMA wal_autocheckpoint = 2000"} {
		if err := w.patiently(ctx, q); err != nil {
			return notADatabase(err)
		}
	}
	var journal string
	if err := w.conn.QueryRowContext(ctx, "PRAGMA journal_mode").Scan(&journal); err != nil {
		return notADatabase(err)
	}
	// With a log the barrier syncs; not every file system lets SQLite have one.
	if journal == "wal" {
		if err := w.patiently(ctx, "PRAGMA synchronous = NORMAL"); err != nil {
			return notADatabase(err)
		}
	}
	if err := w.migrate(ctx, by, former); err != nil {
		return errors.Trace(err)
	}
	// From now on begin does the waiting, as SQLite's own can't be given up.
	return errors.Trace(w.patiently(ctx, fmt.Sprintf("PRAGMA busy_timeout = %d", lockTry.Milliseconds())))
}

// refuse is the error for a database that isn't ours to write to.
func (w *writer) refuse(ctx context.Context) error {
	var version, tables int
	const query = "SELECT user_version, (SELECT count(*) FROM sqlite_schema) FROM pragma_user_version"
	if err := w.conn.QueryRowContext(ctx, query).Scan(&version, &tables); err != nil {
		return notADatabase(err)
	}
	if version > Format {
		return errors.NewNotValid(nil, fmt.Sprintf("the store was made by a newer unitd (format %d, this one knows %d)", version, Format))
	}
	if version == 0 && tables > 0 {
		return errors.NewNotValid(nil, notOurs)
	}
	return nil
}

func notADatabase(err error) error {
	var e *sqlite.Error
	if errors.As(err, &e) && e.Code()&0xff == codeNotDatabase {
		return errors.NewNotValid(nil, notOurs)
	}
	return errors.Trace(err)
}

// patiently runs a statement that SQLite refuses at once, whatever the busy
// timeout, while another process opens the same new file.
func (w *writer) patiently(ctx context.Context, query string) error {
	for try := 1; ; try++ {
		_, err := w.conn.ExecContext(ctx, query)
		if err == nil || !busy(err) || try == 200 {
			return errors.Trace(err)
		}
		select {
		case <-ctx.Done():
			return errors.Trace(ctx.Err())
		case <-time.After(time.Duration(try) * time.Millisecond):
		}
	}
}

func busy(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code()&0xff == codeBusy
}

// migrate makes the tables of a new file, and gives one of an older format the
// number of this one, so that no older program writes to it any more.
func (w *writer) migrate(ctx context.Context, by elapsed, former func(store.Reader) error) error {
	version, err := w.version(ctx)
	if err != nil || version == Format {
		return notADatabase(err)
	}
	if err := w.patiently(ctx, "BEGIN IMMEDIATE"); err != nil {
		return errors.Trace(err)
	}
	defer func() { _, _ = w.conn.ExecContext(context.WithoutCancel(ctx), "ROLLBACK") }()
	// Another process may have been faster.
	if version, err = w.version(ctx); err != nil || version == Format {
		return errors.Trace(err)
	}
	tables := schema
	switch version {
	case 1:
		tables = schemaBoot
	case 2:
		tables = ""
	}
	if version > 0 && former != nil {
		asItIs, err := w.former(ctx, version, by)
		if err == nil {
			err = former(asItIs)
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	_, err = w.conn.ExecContext(ctx, tables+fmt.Sprintf("PRAGMA user_version = %d; COMMIT", Format))
	return notADatabase(err)
}

// former reads a store of a former format. In format 1 leases go by the date; in later ones those
// of a former boot are over.
func (w *writer) former(ctx context.Context, version int, by elapsed) (*reader, error) {
	r := &reader{ctx: ctx, tx: w.conn, now: by.now(), alive: by.alive}
	boot := ""
	if version == 1 {
		r.now, r.alive = by.clock.Now().UnixNano(), "expires > ?"
	} else if err := w.conn.QueryRowContext(ctx, "SELECT id FROM boot").Scan(&boot); err != nil {
		return nil, errors.Trace(err)
	} else if !by.ofBoot(boot) {
		r.alive = "? IS NULL"
	}
	return r, errors.Trace(r.head(ctx))
}

// version is the number of the file's format; 0: it is a new one.
func (w *writer) version(ctx context.Context) (version int, err error) {
	err = w.conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&version)
	return version, errors.Trace(err)
}

// Close closes the connection. No Update may be under way.
func (w *writer) Close() error {
	w.prepared.Close()
	return errors.Trace(w.db.Close())
}

// update runs fn in a transaction on a store; wrote says whether there is a new
// revision. What is committed is durable once the store's barrier was passed.
func (w *writer) update(ctx context.Context, on *Store, relaxed bool, fn func(store.Tx) error) (rev int64, wrote bool, err error) {
	if err := w.waiting(ctx); err != nil {
		return 0, false, errors.Trace(err)
	}
	select {
	case <-w.turn:
	case <-w.closed:
		return 0, false, errors.Trace(store.ErrClosed)
	case <-ctx.Done():
		return 0, false, errors.Trace(ctx.Err())
	}
	defer func() { w.turn <- struct{}{} }()
	if err := w.begin(ctx); err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	committed := false
	defer func() {
		if !committed {
			_ = w.run("ROLLBACK")
		}
	}()
	// The time is that of the transaction, not of when its waiting began, lest
	// a lease be kept alive that others already saw expired.
	t := &transaction{
		w: w, mirror: &on.mirror, touched: map[string]int{},
		reader: reader{ctx: context.WithoutCancel(ctx), tx: &w.prepared, now: on.time.now(), alive: on.time.alive, since: on.time.up != nil},
	}
	if err := t.head(t.ctx); err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	t.known = on.mirror.at(&t.reader)
	if err := t.expire(); err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	if err := fn(t); err != nil {
		return t.rev, false, err
	}
	if t.err != nil {
		return 0, false, t.err
	}
	wrote = len(t.touched) > 0 || t.ended
	if wrote {
		if err := t.advance(); err != nil {
			return 0, false, errors.Trace(err)
		}
		if !relaxed {
			on.barrier.ask(t.rev)
		}
		on.barrier.begin(t.rev)
	}
	if err := w.run("COMMIT"); err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	committed = true
	if wrote {
		on.barrier.committed(t.rev)
	}
	if t.known != nil && t.own != nil {
		on.mirror.wrote(t.known, t.rev, t.touched)
	}
	return t.rev, wrote, nil
}

// begin waits for the lock for as long as anybody wants it.
func (w *writer) begin(ctx context.Context) error {
	for {
		err := w.run("BEGIN IMMEDIATE")
		if err == nil || !busy(err) {
			return errors.Trace(err)
		}
		if err := w.waiting(ctx); err != nil {
			return errors.Annotate(err, "another process is writing to it")
		}
	}
}

// waiting is nil as long as there is a reason to wait.
func (w *writer) waiting(ctx context.Context) error {
	select {
	case <-w.closed:
		return store.ErrClosed
	default:
		return ctx.Err()
	}
}
