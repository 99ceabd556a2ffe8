package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// Format is the format of the store that this program writes. It is kept in the file's user_version. In
// format 1 no document has a checksum, see package state, and there is no boot. In
// format 2 each status of a history is a document, and relations count their units;
// the tables are the same.
const Format = 3

// The table kv has its rows by number, and an index of the keys. To find a key, SQLite compares it
// with a few others. If the rows were by key (WITHOUT ROWID), it would read the whole row of each of
// them, and some have half a megabyte of a charm. Earlier programs have made such files; all
// statements here work on both.
const schema = `
CREATE TABLE kv (key TEXT NOT NULL PRIMARY KEY, value BLOB NOT NULL, rev INTEGER NOT NULL, created INTEGER NOT NULL, lease INTEGER NOT NULL DEFAULT 0);
CREATE TABLE change (rev INTEGER NOT NULL, key TEXT NOT NULL, deleted INTEGER NOT NULL, PRIMARY KEY (rev, key)) WITHOUT ROWID;
CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl INTEGER NOT NULL, expires INTEGER NOT NULL);
CREATE INDEX kv_lease ON kv (lease) WHERE lease != 0;
CREATE TABLE head (one INTEGER PRIMARY KEY CHECK (one = 1), rev INTEGER NOT NULL, compacted INTEGER NOT NULL, lease INTEGER NOT NULL);
INSERT INTO head VALUES (1, 0, 0, 0);
` + schemaBoot

// schemaBoot came with format 2: the boot of the host in which leases were made.
const schemaBoot = `
CREATE TABLE boot (one INTEGER PRIMARY KEY CHECK (one = 1), id TEXT NOT NULL);
INSERT INTO boot VALUES (1, '');
`

// Options modify how a store is opened. The zero value is right for a program.
type Options struct {
	// Clock tells when leases expire; nil, or the wall clock, is the time since the
	// host was booted, where that can be told.
	Clock clock.Clock
	// Up tells by that time instead: how long the host has been up, and the id of
	// its boot; without an id it is the date. Nil: this host, unless Clock is another
	// one than the wall clock.
	Up func() (boot string, up time.Duration)
	// Former is asked before a store of a former format is given that of this
	// program, by which earlier ones know it no more; it reads the store as it is, and its
	// error is that of Open. Nil: nothing speaks against that.
	Former func(store.Reader) error
	// MirrorAfter is how often the store is read before its keys are in memory as well,
	// see mirror; 0: 200 times.
	MirrorAfter int
	// Log gets what goes wrong in the background; nil: nowhere.
	Log *slog.Logger
}

// Store is an open database. It is a store.Store.
type Store struct {
	path   string
	time   elapsed
	former func(store.Reader) error // Options.Former
	log    *slog.Logger
	read   *readers
	rev    *os.File // the side file "<path>-rev"
	mirror mirror
	// barrier is where everybody waits who has seen a revision.
	barrier *barrier

	// writing is held by who opens write, which many programs never need.
	writing sync.Mutex
	write   *writer

	mu     sync.Mutex
	closed bool
	broken error // the file was found to be damaged
	stop   context.CancelFunc
	ctx    context.Context
	hub    *hub // nil until the first Watch
	done   sync.WaitGroup
}

var _ store.Store = (*Store)(nil)

// Open opens the database at path and makes it, readable for its owner alone,
// if there is none. Errors: NotValid for a file that isn't a database or was
// made by a newer unitd, store.ErrDamaged for one that can't be read.
func Open(path string, o Options) (*Store, error) {
	if o.Clock == nil {
		o.Clock = clock.WallClock
	}
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Store{path: path, time: newElapsed(o), former: o.Former, log: o.Log}
	s.mirror.after = cmp.Or(o.MirrorAfter, mirrorAfter)
	s.ctx, s.stop = context.WithCancel(context.Background())
	err := s.filled(s.open())
	if errors.Is(err, store.ErrFull) && giveUpReserve(path) {
		_ = s.letGo()
		s.write, s.read, s.rev, s.barrier = nil, nil, nil, nil
		err = s.filled(s.open())
	}
	if err != nil {
		s.Close()
		if malformed(err) {
			return nil, damaged(path, errors.Cause(err).Error())
		}
		return nil, errors.Annotatef(err, "cannot open the store %s", path)
	}
	return s, nil
}

func (s *Store) open() error {
	err := create(s.path)
	if err != nil {
		return errors.Trace(err)
	}
	// SQLite has its log beside the file itself, wherever a link to that is.
	if s.path, err = filepath.EvalSymlinks(s.path); err != nil {
		return errors.Trace(err)
	}
	if s.rev, err = os.OpenFile(s.path+"-rev", os.O_RDWR|os.O_CREATE, 0o600); err != nil {
		return errors.Trace(err)
	}
	if s.barrier, err = newBarrier(s.path, s.rev); err != nil {
		return errors.Trace(err)
	}
	if s.read, err = openReaders(s.path); err != nil {
		return errors.Trace(err)
	}
	if s.settled() {
		return nil
	}
	if _, err := s.writer(); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(s.endFormerBoot(s.ctx))
}

// settled says whether there is nothing to be done about the file, nor about leases of
// a former boot, so that who only reads needs no connection that writes. Whatever
// speaks against that, also that another process opens the same new file, the one that
// writes waits for, or tells.
func (s *Store) settled() bool {
	tx, end, err := s.read.begin(s.ctx)
	if err != nil {
		return false
	}
	defer end()
	found := func(query string, into any) bool {
		return tx.QueryRowContext(context.Background(), query).Scan(into) == nil
	}
	var version int
	var journal, boot string
	return found("PRAGMA user_version", &version) && version == Format &&
		found("PRAGMA journal_mode", &journal) && journal == "wal" &&
		found("SELECT id FROM boot", &boot) && s.time.ofBoot(boot)
}

// writer is the connection that writes, which is opened for the first who asks for it.
func (s *Store) writer() (*writer, error) {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.write != nil {
		return s.write, nil
	}
	w, err := openWriter(s.ctx, s.path, s.time, s.former)
	if err != nil {
		return nil, errors.Trace(err)
	}
	s.write = w
	return w, nil
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
	for _, p := range append([]string{"busy_timeout(20000)", "cache_size(-4000)", "temp_store(2)", "cell_size_check(1)"}, pragmas...) {
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
	if s.broken != nil {
		return errors.Trace(s.broken)
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
	return s.letGo()
}

// letGo closes what is open.
func (s *Store) letGo() error {
	var first error
	for _, c := range []io.Closer{closer(s.write), closer(s.read), closer(s.barrier), closer(s.rev)} {
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
