package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"slices"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// view serves a view, and the commit that may come out of it.
func (c *served) view(ctx context.Context) error {
	end := time.Now().Add(viewTime)
	viewing, cancel := context.WithDeadline(ctx, end)
	defer cancel()
	if err := c.conn.SetReadDeadline(end); err != nil {
		return errors.Trace(err)
	}
	var last question
	var over error // that of the connection
	begun := false
	rev, err := c.Store.View(viewing, func(r store.Reader) error {
		begun = true
		over = c.send(answer{Rev: r.Rev()})
		for over == nil {
			if last, over = c.next(); over != nil {
				break
			}
			switch {
			case last.Ask == askGet:
				over = c.get(r, last.Key)
			case last.Ask == askPage && last.Page != nil:
				over = c.page(r, *last.Page)
			default:
				return nil
			}
		}
		return nil
	})
	if err != nil && !begun {
		return c.reply(answer{}, err)
	}
	if over == nil {
		over = c.conn.SetReadDeadline(time.Time{})
	}
	switch {
	case over != nil:
		return errors.Trace(over)
	case last.Ask == askEnd:
		return c.reply(answer{Rev: rev}, err)
	case last.Ask == askCommit && last.Write != nil:
		c.commits.RLock() // until it is answered: else nobody knows what has become of it
		defer c.commits.RUnlock()
		return c.reply(c.commit(ctx, *last.Write))
	}
	return c.reply(answer{}, errors.NotValidf("question %.20q where a view is open", last.Ask))
}

// get answers with a key, or without one.
func (c *served) get(r store.Reader, key string) error {
	if !c.caller.MayRead(store.Only(key)) {
		return c.reply(answer{}, c.refused())
	}
	kv, err := r.Get(key)
	if errors.Is(err, errors.NotFound) {
		return c.send(answer{})
	}
	return c.reply(answer{KVs: []store.KV{kv}}, err)
}

// page answers with keys, in pieces.
func (c *served) page(r store.Reader, p staged.Page) error {
	if !c.caller.MayRead(store.Below(p.Prefix)) {
		return c.reply(answer{}, c.refused())
	}
	var over error
	err := read(r, p, func(kvs []store.KV, more, last bool) bool {
		for over == nil {
			n := fitting(kvs)
			piece := answer{KVs: kvs[:n], More: more || n < len(kvs), Last: last && n == len(kvs)}
			kvs, over = kvs[n:], c.send(piece)
			if len(kvs) == 0 {
				break
			}
		}
		return over == nil
	})
	if over != nil {
		return errors.Trace(over)
	}
	if err != nil {
		return c.reply(answer{}, err)
	}
	return nil
}

// fitting is how many of the keys go into one frame.
func fitting(kvs []store.KV) int {
	size := 0
	for n, kv := range kvs {
		if size += len(kv.Key) + len(kv.Value); size > pieceBytes && n > 0 {
			return n
		}
	}
	return len(kvs)
}

// read calls fn with the pieces of a page, while it returns true: more says that another one
// follows, and last that there are no keys after these.
func read(r store.Reader, p staged.Page, fn func(kvs []store.KV, more, last bool) bool) error {
	if p.Since > 0 {
		kvs, err := since(r, p)
		if err == nil {
			fn(kvs, false, p.Limit < 0 || len(kvs) < p.Limit)
		}
		return errors.Trace(err)
	}
	list := r.Page
	if p.Bare {
		list = r.Keys
	}
	for left, after := p.Limit, p.After; ; {
		n := pieceKeys
		if left >= 0 {
			n = min(n, left)
		}
		kvs, err := list(p.Prefix, after, n)
		if err != nil {
			return errors.Trace(err)
		}
		last := len(kvs) < n
		if left >= 0 {
			left -= len(kvs)
		}
		more := !last && left != 0
		if !fn(kvs, more, last) || !more {
			return nil
		}
		after = kvs[len(kvs)-1].Key
	}
}

// since is a page of what was written lately.
func since(r store.Reader, p staged.Page) ([]store.KV, error) {
	kvs, err := r.Since(p.Prefix, p.Since)
	if err != nil {
		return nil, errors.Trace(err)
	}
	kvs = slices.DeleteFunc(kvs, func(kv store.KV) bool { return p.After != "" && kv.Key <= p.After })
	if p.Limit >= 0 && len(kvs) > p.Limit {
		kvs = kvs[:p.Limit]
	}
	if p.Bare {
		kvs = staged.Bare(kvs)
	}
	return kvs, nil
}

// sum says which keys, in which revisions, were on a page: who adds up the same has read the
// same.
type sum struct{ hash.Hash }

func newSum() sum { return sum{sha256.New()} }

func (s sum) add(kvs []store.KV) {
	for _, kv := range kvs {
		fmt.Fprintf(s, "%s %d\n", kv.Key, kv.Rev)
	}
}

func (s sum) String() string { return hex.EncodeToString(s.Sum(nil)[:16]) }
