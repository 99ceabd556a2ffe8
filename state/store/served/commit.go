package served

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// commitTime is how long a commit may hold the store, once it is its turn.
const commitTime = 20 * time.Second

// errLost ends a commit that has read what isn't so any more.
const errLost = errors.ConstError("what was read has changed")

// commit makes a transaction, if what it has read is still so.
func (c *served) commit(ctx context.Context, w commit) (answer, error) {
	if err := c.allowed(w); err != nil {
		return answer{}, err
	}
	var opts []store.Option
	if w.Relaxed {
		opts = append(opts, store.Relaxed)
	}
	rev, err := c.Store.Update(ctx, func(tx store.Tx) error {
		end := time.Now().Add(commitTime)
		if err := w.compare(tx, end); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(w.Writes)) {
			if err := write(tx, key, w.Writes[key]); err != nil {
				return errors.Trace(err)
			}
		}
		return nil
	}, opts...)
	if errors.Is(err, errLost) {
		return answer{Lost: true}, nil
	}
	return answer{Rev: rev}, err
}

// allowed is the error of a transaction that the caller may not make, in which that may also be
// said by whether it is made.
func (c *served) allowed(w commit) error {
	for key := range w.Writes {
		if !c.caller.MayWrite(key) {
			return c.refused()
		}
	}
	for key := range w.Got {
		if !c.caller.MayRead(store.Only(key)) {
			return c.refused()
		}
	}
	for _, p := range w.Pages {
		if !c.caller.MayRead(store.Below(p.Prefix)) {
			return c.refused()
		}
	}
	return nil
}

// compare reads again what the transaction has read.
func (w commit) compare(tx store.Tx, end time.Time) error {
	for key, rev := range w.Got {
		kv, err := tx.Get(key)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if err == nil && kv.Rev != rev || err != nil && rev != 0 {
			return errLost
		}
	}
	for _, p := range w.Pages {
		if time.Now().After(end) {
			return errors.NewTimeout(nil, "the transaction has read too much to be committed")
		}
		is := newSum()
		err := read(tx, p.Page, func(kvs []store.KV, _, _ bool) bool {
			is.add(kvs)
			return true
		})
		if err != nil {
			return errors.Trace(err)
		}
		if is.String() != p.Sum {
			return errLost
		}
	}
	return nil
}

func write(tx store.Tx, key string, w staged.Write) error {
	switch {
	case w.Deleted:
		if _, err := tx.Get(key); errors.Is(err, errors.NotFound) {
			// It was both made and deleted, which is a change too.
			if err := tx.Put(key, nil); err != nil {
				return errors.Trace(err)
			}
		}
		return tx.Delete(key)
	case w.Lease != 0:
		return tx.PutLease(key, w.Value, w.Lease)
	}
	return tx.Put(key, w.Value)
}

// leases are those that were granted to callers, by whom: a lease takes its keys along, whoever
// may write them, so it is ended by its owner only. After the server was begun anew nobody
// but who may do everything can end them before their time.
type leases struct {
	mu sync.Mutex
	of map[store.LeaseID]int
}

func (l *leases) note(id store.LeaseID, uid int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[store.LeaseID]int{}
	}
	l.of[id] = uid
}

func (l *leases) forget(id store.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
}

func (l *leases) isOf(id store.LeaseID, uid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	owner, ok := l.of[id]
	return ok && owner == uid
}

// lease does what is asked about a lease.
func (c *served) lease(ctx context.Context, q question) (answer, error) {
	if !c.caller.Writes() {
		return answer{}, c.refused()
	}
	switch q.Ask {
	case askGrant:
		id, err := c.Store.Grant(ctx, q.TTL)
		if err == nil {
			c.leases.note(id, c.who.UID)
		}
		return answer{Lease: id}, err
	case askKeep:
		err := c.Store.KeepAlive(ctx, q.Lease)
		if errors.Is(err, errors.NotFound) {
			c.leases.forget(q.Lease)
		}
		return answer{}, err
	}
	if q.Lease != 0 && !c.leases.isOf(q.Lease, c.who.UID) && !c.caller.MayWrite("") {
		return answer{}, c.refused()
	}
	err := c.Store.Revoke(ctx, q.Lease)
	if err == nil {
		c.leases.forget(q.Lease)
	}
	return answer{}, err
}
