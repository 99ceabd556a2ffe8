package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
)

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

// keepAlive never has a lease end earlier because the clock was set back a little: who
// answers from memory wasn't told, see picture. A clock that was far ahead is another
// matter.
var keepAlive = fmt.Sprintf("UPDATE lease SET expires = CASE WHEN expires > ?1 + ttl + %d THEN ?1 + ttl ELSE max(expires, ?1 + ttl) END WHERE id = ?2", setBack)

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	return s.KeepAliveAt(ctx, id, time.Time{})
}

// KeepAliveAt is KeepAlive as of a time that may be still to come: for who has
// a clock that leaps, as test worlds do.
func (s *Store) KeepAliveAt(ctx context.Context, id store.LeaseID, at time.Time) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		t := tx.(*transaction)
		from := t.now
		if !at.IsZero() {
			from = max(from, at.UnixNano())
		}
		n, err := t.affected(keepAlive, from, id)
		if err == nil && n == 0 {
			return errors.NotFoundf("lease %d", id)
		}
		return errors.Trace(err)
	}, store.Relaxed, modest)
	return err
}

// Revoke is part of store.Store.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	_, err := s.Update(ctx, func(tx store.Tx) error {
		return tx.(*transaction).endLease(int64(id))
	})
	return errors.Annotatef(err, "cannot end lease %d", id)
}
