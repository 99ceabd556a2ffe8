package sqlite

import (
	"os"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// A commit is visible to others as soon as SQLite has written it to its log, and
// durable once the log was synced. Commits of one moment share a sync: nobody holds
// the right to write while the disk works. For that nobody may go by what a power
// cut could still take back. So whoever has read or committed a revision waits at a
// barrier until all that it holds, and that was to be durable, is. The log keeps
// the order of the commits, so what is durable is a prefix of them.
//
// Readers of other processes wait as well: how far the store is stands in
// numbers of the side file "<path>-rev", which all have in memory.

// The side file has the newest revision as text, for the notices that writing it
// gives, and from these offsets on what a barrier goes by.
const (
	barrierAt = 32
	sideSize  = 64
)

// progress is how far a store's commits are: asked is the newest revision that was
// to be durable, done the one up to which all is. begun is the newest that anybody has
// begun to commit, head the newest of which it is known that it is committed.
type progress struct{ asked, done, begun, head atomic.Int64 }

// at says whether the store is at a revision; false: it may be, or not. Who has
// committed another one, and said so, has noted it before.
func (p *progress) at(rev int64) bool { return p.head.Load() == rev && p.begun.Load() == rev }

// begin says that a revision is about to be committed. Its caller alone may write to
// the store, which may be an older copy than the side file knows of.
func (p *progress) begin(rev int64) {
	lower(&p.head, rev-1)
	p.begun.Store(rev)
}

// committed says that a revision is.
func (p *progress) committed(rev int64) { raise(&p.head, rev) }

// raise makes a number at least so large, lower at most.
func raise(n *atomic.Int64, to int64) {
	for now := n.Load(); now < to && !n.CompareAndSwap(now, to); now = n.Load() {
	}
}

func lower(n *atomic.Int64, to int64) {
	for now := n.Load(); now > to && !n.CompareAndSwap(now, to); now = n.Load() {
	}
}

// barrier is where those wait who have seen a revision. It is safe for use by many
// goroutines.
type barrier struct {
	path string // of the log
	side []byte // the mapped file
	*progress

	mu      sync.Mutex
	ready   sync.Cond
	syncing bool
	seen    int64 // the newest revision that anybody here knows is in the log
	log     *os.File
	failed  error
	broken  atomic.Bool // whether it has failed
	sync    func() error
}

// newBarrier is the barrier of the database at path, whose side file is open.
func newBarrier(path string, side *os.File) (*barrier, error) {
	info, err := side.Stat()
	if err != nil {
		return nil, errors.Trace(err)
	}
	// Written, and not only made longer: where the disk is full what is mapped would
	// have no room, and to write there would end the process.
	if size := info.Size(); size < sideSize {
		if _, err := side.WriteAt(make([]byte, sideSize-size), size); err != nil {
			return nil, errors.Trace(err)
		}
	}
	mapped, err := unix.Mmap(int(side.Fd()), 0, sideSize, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, errors.Annotatef(err, "cannot map %s", side.Name())
	}
	b := &barrier{path: path + "-wal", side: mapped}
	b.sync = b.syncLog
	b.progress = (*progress)(unsafe.Pointer(&mapped[barrierAt]))
	b.ready.L = &b.mu
	return b, nil
}

// ask says that a revision is to be durable, before it is committed. Its caller
// alone may write to the store.
func (b *barrier) ask(rev int64) {
	lower(&b.done, rev-1) // as begin does
	b.asked.Store(rev)
}

// pass waits until what was to be durable of a revision is, which is in the log. It
// doesn't end before, as a sync can't be given up.
func (b *barrier) pass(rev int64) error {
	want := min(b.asked.Load(), rev)
	if b.done.Load() >= want && !b.broken.Load() {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen = max(b.seen, rev)
	for b.done.Load() < want && b.failed == nil {
		if b.syncing {
			b.ready.Wait()
			continue
		}
		b.together()
	}
	return b.failed
}

// together syncs the log for all who have come until now. What comes meanwhile
// takes part in the next one.
func (b *barrier) together() {
	b.syncing = true
	upTo := b.seen
	b.mu.Unlock()
	err := b.sync()
	b.mu.Lock()
	b.syncing = false
	if err != nil {
		// What the disk has now nobody knows; another sync would say that all is well.
		b.failed = errors.Annotate(err, "cannot make the store durable: start the agent again")
		b.broken.Store(true)
	} else {
		raise(&b.done, upTo)
	}
	b.ready.Broadcast()
}

// syncLog syncs the log, unless there is none: then all is in the database, and was
// synced there. The file stays open: an error of the disk is told once to each who had
// the file open as it happened, and to nobody who comes later. It is for one goroutine.
func (b *barrier) syncLog() error {
	now, err := os.Stat(b.path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	if b.log != nil {
		if was, err := b.log.Stat(); err != nil || !os.SameFile(was, now) {
			b.log.Close()
			b.log = nil
		}
	}
	if b.log == nil {
		if b.log, err = os.OpenFile(b.path, os.O_RDWR, 0); err != nil {
			return errors.Trace(err)
		}
	}
	return errors.Annotatef(syncData(int(b.log.Fd())), "cannot sync %s", b.path)
}

// Close ends the mapping. Nobody may be waiting.
func (b *barrier) Close() error {
	if b.log != nil {
		b.log.Close()
	}
	return errors.Trace(unix.Munmap(b.side))
}
