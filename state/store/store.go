// Package store is the small interface between the model and the engine that
// keeps it: revisioned keys, serialisable read-modify-write transactions,
// watches that resume, and leases. Its semantics are etcd's, so that etcd and
// SQLite can both be the engine and nothing above can tell which one it has.
//
//	rev, err := s.Update(ctx, func(tx store.Tx) error {
//		kv, err := tx.Get("app/mysql")     // read documents
//		...                                // decide
//		return tx.Put("app/mysql", value)  // write documents
//	})
//
// Keys are slash-separated paths of printable ASCII and sort bytewise; values
// are opaque bytes of at most MaxValue. Every committed Update that wrote
// something has a revision of its own, greater than all before it.
//
// Package storetest has the conformance suite that each engine must pass;
// sqlite/ and etcd/ are the engines. What the keys and values mean is package
// state's business.
package store

import (
	"context"
	"time"

	"github.com/juju/errors"
)

const (
	// MaxValue is the largest value in bytes; etcd's request limit of 1.5 MiB
	// less room for keys.
	MaxValue = 1 << 20
	// MaxWrites is how many keys one transaction may write; etcd takes 128
	// operations in one transaction.
	MaxWrites = 120
	// MaxBytes is how many bytes the keys and values may have that one
	// transaction writes; etcd's request limit of 1.5 MiB less room for what it
	// compares.
	MaxBytes = 1408 << 10
	// MaxKey is the longest key in bytes.
	MaxKey = 300

	// ErrClosed is what every method of a closed store returns.
	ErrClosed = errors.ConstError("store is closed")
	// ErrTooLarge is returned by an Update that writes a value over MaxValue,
	// more keys than MaxWrites or more bytes than MaxBytes. Nothing of it was
	// committed.
	ErrTooLarge = errors.ConstError("transaction too large")
	// ErrFull is returned by what writes where the engine has no room for it: its
	// disk, or its quota, is used up. Nothing of it was committed.
	ErrFull = errors.ConstError("no room for what is written")
	// ErrContention is returned by an Update that was retried many times and
	// always found that somebody else had changed what it had read.
	ErrContention = errors.ConstError("state changing too quickly; try again soon")
	// ErrDamaged is returned once the engine has found that what it has on its
	// disk isn't what it has written.
	ErrDamaged = errors.ConstError("store is damaged")
)

// KV is one key with its value and the revisions at which it was last written
// and made.
type KV struct {
	Key       string
	Value     []byte
	Rev       int64
	CreateRev int64
	Lease     LeaseID
}

// LeaseID names a lease; 0 is no lease.
type LeaseID int64

// Reader is a consistent view of one revision. It is valid only within the
// function it is handed to, and for one goroutine.
type Reader interface {
	// Get returns the key; errors.NotFound where there is none.
	Get(key string) (KV, error)
	// List returns all keys that begin with prefix, in order.
	List(prefix string) ([]KV, error)
	// Page returns at most limit keys that begin with prefix and sort after
	// the key after ("" for the first page), in order.
	Page(prefix, after string, limit int) ([]KV, error)
	// Keys is Page without the values, which are nil, and the leases, which
	// are 0.
	Keys(prefix, after string, limit int) ([]KV, error)
	// Since returns the keys that begin with prefix and were written after
	// revision rev, in order. Of keys that were deleted it tells nothing. It
	// costs what has changed, not what is there, unless that was long ago.
	Since(prefix string, rev int64) ([]KV, error)
	// Rev is the revision that is being read: what has been committed up to
	// and with it is seen, and nothing later.
	Rev() int64
}

// Tx is a Reader that sees its own writes. What it wrote is committed whole,
// if the function returns nil and nothing that it read has been changed
// meanwhile, or not at all.
type Tx interface {
	Reader
	// Put writes the key, without a lease.
	Put(key string, value []byte) error
	// PutLease writes the key so that it vanishes, as by Delete, when the
	// lease expires or is revoked. If there is no such lease, errors.NotFound is
	// returned by it or by the Update.
	PutLease(key string, value []byte, lease LeaseID) error
	// Delete removes the key; it is no error if there is none.
	Delete(key string) error
}

// Event says that a key was written or deleted. It does not carry the value:
// read what you need, it may be newer.
type Event struct {
	Key     string
	Rev     int64
	Deleted bool
}

// Batch is a group of events in the order of their revisions. Rev is the
// revision up to which the watcher has now been told everything.
type Batch struct {
	Rev    int64
	Events []Event
	// Resync says that changes were compacted away before this watcher could
	// be told of them: whatever it watches may have changed. Events is empty.
	Resync bool
}

// Option modifies one Update.
type Option int

// Relaxed lets the engine acknowledge before the change is on stable storage.
// It survives the death of this process, but perhaps not a power cut; the
// order of transactions is kept all the same. It is for what can be said
// again: statuses, presence, leases.
const Relaxed Option = 1

// Store is an engine. All methods may be called from many goroutines at once.
type Store interface {
	// View calls fn with a consistent view of the newest revision and returns
	// that revision. The error is fn's own, or the engine's.
	View(ctx context.Context, fn func(Reader) error) (int64, error)
	// Update calls fn, and commits what it wrote as one transaction. fn may be
	// called more than once, and must have no effect but through the Tx. An
	// error of fn is returned as it is and nothing is committed. The result is
	// the revision of the commit; where fn wrote nothing, the one it read.
	Update(ctx context.Context, fn func(Tx) error, opts ...Option) (int64, error)
	// Watch tells of every change after revision from (0: after now) to the keys
	// of, in order, until ctx is done; then the channel is closed. What one
	// transaction has changed of them comes in one batch. Several changes to one
	// key may come as one event with the newest revision. A slow reader loses
	// nothing. Who wants to be told of other keys ends the watch, and begins one
	// after the Rev of the last batch: nothing is missed of keys that were watched
	// before; at those that are new it has to look after it was told that.
	Watch(ctx context.Context, of []Keys, from int64) (<-chan Batch, error)
	// Grant makes a lease that expires ttl after it was last kept alive, by the
	// engine's time. An engine may round ttl up to whole seconds.
	Grant(ctx context.Context, ttl time.Duration) (LeaseID, error)
	// KeepAlive puts the lease's expiry at its full ttl from now.
	// errors.NotFound once it has expired or was revoked.
	KeepAlive(ctx context.Context, id LeaseID) error
	// Revoke ends the lease and deletes its keys; no error if there is none,
	// as there never is one with the id 0.
	Revoke(ctx context.Context, id LeaseID) error
	// Compact forgets the history of changes up to rev: a Watch from before it
	// begins with Resync. Keys and values are not touched. A View that has taken
	// so long that what it reads was forgotten may end with an error.
	Compact(ctx context.Context, rev int64) error
	// Close ends all watches and releases what the engine holds.
	Close() error
}

// CheckKey is NotValid for what can't be a key.
func CheckKey(key string) error {
	if key == "" {
		return errors.NotValidf("empty key")
	}
	if len(key) > MaxKey {
		return errors.NotValidf("key %.40q…: one of %d bytes, more than %d,", key, len(key), MaxKey)
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return errors.NotValidf("key %q: only printable ASCII is", key)
		}
	}
	return nil
}
