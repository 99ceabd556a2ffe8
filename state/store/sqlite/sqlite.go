package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// schemaVersion is kept in the file's user_version.
const schemaVersion = 1

const schema = `
CREATE TABLE kv (key TEXT PRIMARY KEY, value BLOB NOT NULL, rev INTEGER NOT NULL, created INTEGER NOT NULL, lease INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE TABLE change (rev INTEGER NOT NULL, key TEXT NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (rev, key)) WITHOUT ROWID;
CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX kv_lease ON kv (lease) WHERE lease != 0;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), rev INTEGER NOT NULL, compacted INTEGER NOT NULL, lease INTEGER NOT NULL);
INSERT INTO head VALUES (1, 0, 0, 0);
`

// Options modify how a store is opened. The zero value is right for a program.
type Options struct {
	// Clock tells when leases expire; nil is the wall clock.
	Clock clock.Clock
	// Log gets what goes wrong in the background; nil: nowhere.
	Log *slog.Logger
}

// Store is an open database. It is a store.Store.
type Store struct {
	path  string
	clock clock.Clock
	log   *slog.Logger
	write *writer
	read  *sql.DB
	rev   *os.File // the side file "<path>-rev"

	mu     sync.Mutex
	closed bool
	stop   context.CancelFunc
	ctx    context.Context
	hub    *hub // nil until the first Watch
	done   sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens the database at path and makes it, readable for its owner alone,
// if there is none. Errors: NotValid for a file that isn't a database or was
// made by a newer unitd.
func Open(path string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clock.WallClock
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Store{path: path, clock: o.Clock, log: o.Log}
	s.ctx, s.stop = context.WithCancel(context.Background())
	if err := s.open(); err != nil {
		s.Close()
		return nil, errors.Annotatef(err, "cannot open the store %s", path)
	}
	return s, nil
}

func (s *Store) open() error {
	err := create(s.path)
	if err != nil {
		return errors.Trace(err)
	}
	if s.rev, err = os.OpenFile(s.path+"-rev", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return errors.Trace(err)
	}
	if s.write, err = openWriter(s.ctx, s.path); err != nil {
		return errors.Trace(err)
	}
	s.read, err = sql.Open("sqlite", dsn(s.path, "query_only(1)"))
	if err != nil {
		return errors.Trace(err)
	}
	// Many more than are kept, as a View may well be within another's function.
	s.read.SetMaxOpenConns(64)
	s.read.SetMaxIdleConns(4)
	return nil
}

// create makes the file if there is none, so that nobody but its owner can
// read it, whatever the umask. A file that is there isn't even opened: closing
// it again would drop the locks that another Store of this process has on it
// through SQLite, as POSIX has it.
func create(path string) error {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return errors.NewNotValid(nil, "it is not a file")
	}
	if !errors.Is(err, os.ErrNotExist) {
		return errors.Trace(err)
	}
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return nil // another process was faster
	}
	if err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Close())
}

// dsn is the driver's name for the database, with pragmas for each connection.
func dsn(path string, pragmas ...string) string {
	q := url.Values{}
	for _, p := range append([]string{"busy_timeout(20000)", "cache_size(-4000)", "temp_store(2)"}, pragmas...) {
		q.Add("_pragma", p)
	}
	return (&url.URL{Scheme: "file", Opaque: (&url.URL{Path: path}).EscapedPath(), RawQuery: q.Encode()}).String()
}

// enter is check for what Close has to wait for; done.Done ends it.
func (s *Store) enter() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Trace(store.ErrClosed)
	}
	s.done.Add(1)
	return nil
}

// check returns ErrClosed once the store is.
func (s *Store) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.Trace(store.ErrClosed)
	}
	return nil
}

// Close is part of store.Store. It waits for what has begun, so that no
// connection is left: with the last one to a database SQLite brings everything
// over from the write-ahead log, and the file alone is the whole store.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.stop()
	s.done.Wait()
	var first error
	for _, c := range []io.Closer{closer(s.write), closer(s.read), closer(s.rev)} {
		if c == nil {
			continue
		}
		if err := c.Close(); err != nil && first == nil {
			first = errors.Trace(err)
		}
	}
	return first
}

// closer is nil for a nil pointer, which an interface with one in it isn't.
func closer[T any, P interface {
	*T
	io.Closer
}](p P) io.Closer {
	if p == nil {
		return nil
	}
	return p
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.done.Done()
	tx, end, err := s.begin(ctx)
	if err != nil {
		return 0, errors.Annotate(s.orClosed(err), "cannot read the store")
	}
	defer end()
	r := &reader{ctx: ctx, tx: tx, now: s.clock.Now().UnixNano()}
	if err := r.head(); err != nil {
		return 0, errors.Annotate(s.orClosed(err), "cannot read the store")
	}
	if err := fn(r); err != nil {
		return 0, err
	}
	return r.rev, nil
}

// begin begins to read. Once end has returned the connection is free again, and
// Close closes it: a transaction alone may give it back later, if ctx ends.
func (s *Store) begin(ctx context.Context) (_ *sql.Tx, end func(), err error) {
	conn, err := s.read.Conn(ctx)
	if err != nil {
		return nil, nil, errors.Trace(err)
	}
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		conn.Close()
		return nil, nil, errors.Trace(err)
	}
	return tx, func() {
		_ = tx.Rollback()
		conn.Close()
	}, nil
}

// orClosed is ErrClosed if the store was closed meanwhile, else err.
func (s *Store) orClosed(err error) error {
	if closed := s.check(); closed != nil {
		return closed
	}
	return err
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	if err := s.enter(); err != nil {
		return 0, err
	}
	defer s.done.Done()
	relaxed := false
	for _, o := range opts {
		relaxed = relaxed || o == store.Relaxed
	}
	rev, wrote, err := s.write.update(ctx, s.clock, relaxed, fn)
	if err != nil {
		return 0, err
	}
	if wrote {
		s.announce(rev)
	}
	return rev, nil
}

// announce tells everybody that a commit is visible now.
func (s *Store) announce(rev int64) {
	s.mu.Lock()
	h := s.hub
	s.mu.Unlock()
	if h != nil {
		h.poke()
	}
	// What is written doesn't matter, that something is does: see hub.
	if _, err := s.rev.WriteAt(fmt.Appendf(nil, "%020d\n", rev), 0); err != nil {
		s.log.Warn("cannot tell other processes of a commit", "err", err)
	}
}

// Grant is part of store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	var id int64
	_, err := s.Update(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		if err := t.row("UPDATE head SET lease = lease + 1 RETURNING lease").Scan(&id); err != nil {
			return errors.Trace(err)
		}
		return t.exec("INSERT INTO lease VALUES (?, ?, ?)", id, int64(ttl), t.now+int64(ttl))
	}, store.Relaxed)
	s.leasesChanged()
	return store.LeaseID(id), errors.Annotate(err, "cannot make a lease")
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		n, err := t.affected("UPDATE lease SET expires = ? + ttl WHERE id = ?", t.now, id)
		if err == nil && n == 0 {
			return errors.NotFoundf("lease %d", id)
		}
		return errors.Trace(err)
	}, store.Relaxed)
	return err
}

// Revoke is part of store.Store.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		return tx.(*transaction).endLease(int64(id))
	})
	return errors.Annotatef(err, "cannot end lease %d", id)
}

// CopyTo writes a copy of the database, as it is at one revision, to a file
// that isn't there yet.
func (s *Store) CopyTo(ctx context.Context, path string) error {
	if err := s.enter(); err != nil {
		return err
	}
	defer s.done.Done()
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot copy the store")
	}
	if err := f.Close(); err != nil {
		return errors.Annotate(err, "cannot copy the store")
	}
	// The connections for reading refuse to write anything.
	db, err := sql.Open("sqlite", dsn(s.path))
	if err != nil {
		return errors.Annotate(err, "cannot copy the store")
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, "VACUUM INTO ?", path)
	return errors.Annotate(err, "cannot copy the store")
}

// Compact is part of store.Store.
func (s *Store) Compact(ctx context.Context, rev int64) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		return tx.(*transaction).compact(min(rev, tx.Rev()))
	}, store.Relaxed)
	return errors.Annotate(err, "cannot compact the store")
}
