package served

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// errLost ends a commit that has read what isn't so any more.
const errLost = errors.ConstError("what was read has changed")

// makeCommit answers with a commit, unless the agent goes away.
func (c *served) makeCommit(ctx context.Context, w commit) error {
	leave, err := c.user.commits.enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	defer func() { c.end = time.Time{} }()
	// Held until it is answered: else nobody knows what has become of it.
	if !c.commits.TryRLock() {
		c.end = time.Now().Add(answerTime)
		return c.reply(answer{}, errors.Trace(errAway))
	}
	defer c.commits.RUnlock()
	a, err := c.commit(ctx, w)
	c.end = time.Now().Add(answerTime)
	return c.reply(a, err)
}

// commit makes a transaction, if what it has read is still so.
func (c *served) commit(ctx context.Context, w commit) (answer, error) {
	switch {
	case len(w.Writes) == 0:
		return answer{}, errors.NotValidf("commit of nothing")
	case len(w.Got)+len(w.Pages) > maxReads:
		return answer{}, errors.Annotate(store.ErrTooLarge, "it has read too much")
	}
	if err := w.allowed(c.caller); err != nil {
		return answer{}, err
	}
	var opts []store.Option
	if w.Relaxed {
		opts = append(opts, store.Relaxed)
	}
	rev, err := c.Store.Update(ctx, func(tx store.Tx) error {
		// By the rights of this moment: they may have changed since the connection began.
		now, err := c.Who(tx, c.who)
		if err == nil {
			err = w.allowed(now)
		}
		if err == nil {
			err = w.compare(tx, time.Now().Add(commitTime))
		}
		if err != nil {
			return errors.Trace(err)
		}
		// Backward: a model's entry is there by the time that what is in the model is checked.
		for _, key := range slices.Backward(slices.Sorted(maps.Keys(w.Writes))) {
			of := w.Writes[key]
			if c.Check != nil && !of.Deleted {
				if of.Value, err = c.Check(tx, now, key, of.Value); err != nil {
					return errors.Trace(err)
				}
			}
			if err := write(tx, key, of); err != nil {
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
func (w commit) allowed(c Caller) error {
	for key := range w.Writes {
		if !c.MayWrite(key) {
			return c.Refused()
		}
	}
	for key := range w.Got {
		if !c.MayRead(store.Only(key)) {
			return c.Refused()
		}
	}
	for _, p := range w.Pages {
		if !c.MayRead(store.Below(p.Prefix)) {
			return c.Refused()
		}
	}
	return nil
}

// compare reads again what the transaction has read, without the values.
func (w commit) compare(tx store.Tx, end time.Time) error {
	late := func() error {
		if time.Now().After(end) {
			return errors.NewTimeout(nil, "the transaction has read too much to be committed")
		}
		return nil
	}
	for key, rev := range w.Got {
		kv, err := tx.Get(key)
		if err != nil && !errors.Is(err, errors.NotFound) {
			return errors.Trace(err)
		}
		if err == nil && kv.Rev != rev || err != nil && rev != 0 {
			return errLost
		}
		if err := late(); err != nil {
			return err
		}
	}
	for _, p := range w.Pages {
		is := newSum()
		p.Bare = true
		err := read(tx, p.Page, func(kvs []store.KV, _, _ bool) bool {
			is.add(kvs)
			return late() == nil
		})
		if err == nil {
			err = late()
		}
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
