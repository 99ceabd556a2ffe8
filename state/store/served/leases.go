package served

import (
	"context"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

// leases are those that were granted to callers, by whom: a lease takes its keys along, whoever
// may write them, so it is ended by its owner only, and nobody keeps one that is known to be
// another's. Of those that a former server has granted, and of the agent's own, nothing is known:
// whoever may write anything may keep them, if he knows them, and nobody but who may write
// everything ends them before their time.
type leases struct {
	mu sync.Mutex
	of map[store.LeaseID]leased
}

// leased is a lease of somebody, until some time if nobody keeps it.
type leased struct {
	uid   int
	ttl   time.Duration
	until time.Time
}

// room says whether somebody may have one more.
func (l *leases) room(uid int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, n := time.Now(), 0
	for id, lease := range l.of {
		if now.After(lease.until) {
			delete(l.of, id)
		} else if lease.uid == uid {
			n++
		}
	}
	return n < maxLeases
}

func (l *leases) note(id store.LeaseID, uid int, ttl time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.of == nil {
		l.of = map[store.LeaseID]leased{}
	}
	// Not less than engines give, which may round it up.
	l.of[id] = leased{uid, ttl, time.Now().Add(ttl + time.Minute)}
}

func (l *leases) kept(id store.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease, ok := l.of[id]; ok {
		lease.until = time.Now().Add(lease.ttl + time.Minute)
		l.of[id] = lease
	}
}

func (l *leases) forget(id store.LeaseID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.of, id)
}

// owner is whose lease it is, if that is known.
func (l *leases) owner(id store.LeaseID) (uid int, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	lease, known := l.of[id]
	return lease.uid, known
}

// mayLease says whether the caller may do what is asked about a lease.
func (c *served) mayLease(q question) bool {
	owner, known := c.leases.owner(q.Lease)
	own := known && owner == c.who.UID
	switch {
	case !c.caller.Writes():
		return false
	case q.Ask == askKeep:
		return own || !known || c.caller.MayWrite("")
	case q.Ask == askRevoke:
		return own || q.Lease == 0 || c.caller.MayWrite("")
	}
	return true
}

// lease does what is asked about a lease.
func (c *served) lease(ctx context.Context, q question) (answer, error) {
	if !c.mayLease(q) {
		return answer{}, c.caller.Refused()
	}
	switch q.Ask {
	case askGrant:
		if !c.caller.MayWrite("") {
			q.TTL = min(q.TTL, leaseTime)
			if !c.leases.room(c.who.UID) {
				return answer{}, errors.QuotaLimitExceededf("more than %d leases", maxLeases)
			}
		}
		id, err := c.Store.Grant(ctx, q.TTL)
		if err == nil {
			c.leases.note(id, c.who.UID, q.TTL)
		}
		return answer{Lease: id}, err
	case askKeep:
		err := c.Store.KeepAlive(ctx, q.Lease)
		if errors.Is(err, errors.NotFound) {
			c.leases.forget(q.Lease)
		} else if err == nil {
			c.leases.kept(q.Lease)
		}
		return answer{}, err
	}
	err := c.Store.Revoke(ctx, q.Lease)
	if err == nil {
		c.leases.forget(q.Lease)
	}
	return answer{}, err
}
