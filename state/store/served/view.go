package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// view serves a view, and the commit that may come out of it.
func (c *served) view(ctx context.Context) error {
	over, err := c.viewGates(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer over()
	c.end = time.Now().Add(viewTime)
	defer func() { c.end = time.Time{} }()
	viewing, cancel := context.WithDeadline(ctx, c.end)
	defer cancel()
	if err := c.conn.SetReadDeadline(c.end); err != nil {
		return errors.Trace(err)
	}
	v := &view{served: c, done: func() {}}
	rev, err := c.Store.View(viewing, func(r store.Reader) error {
		v.serve(ctx, r)
		return nil
	})
	over()
	defer v.done()
	if err != nil && !v.begun {
		return c.reply(answer{}, err)
	}
	if errors.Is(v.over, os.ErrDeadlineExceeded) {
		c.end = time.Time{}
		_ = c.reply(answer{}, errors.NewTimeout(nil, fmt.Sprintf("a view of the store may take %s", viewTime)))
	}
	if v.over == nil {
		v.over = c.conn.SetReadDeadline(time.Time{})
	}
	switch {
	case v.over != nil:
		return errors.Trace(v.over)
	case v.last.Ask == askEnd:
		return c.reply(answer{Rev: rev}, err)
	case v.last.Ask == askCommit && v.last.Write != nil:
		return c.makeCommit(ctx, *v.last.Write)
	}
	return c.reply(answer{}, errors.NotValidf("question %.20q where a view is open", v.last.Ask))
}

// viewGates waits until there is room for one more view; over may be called again.
func (c *served) viewGates(ctx context.Context) (over func(), err error) {
	own, err := c.user.views.enter(ctx)
	if err != nil {
		return nil, errors.Trace(err)
	}
	all, err := c.limits.views.enter(ctx)
	if err != nil {
		own()
		return nil, errors.Trace(err)
	}
	return sync.OnceFunc(func() {
		all()
		own()
	}), nil
}

// view is one that is open.
type view struct {
	*served
	begun bool
	last  question // the one that has ended it, which done says is answered
	done  func()
	over  error // that of a connection that is over
}

// serve answers what is asked about the view.
func (v *view) serve(ctx context.Context, r store.Reader) {
	v.begun = true
	v.over = v.send(answer{Rev: r.Rev()})
	for v.over == nil {
		if v.last, v.done, v.over = v.next(ctx); v.over != nil {
			v.done = func() {}
			return
		}
		switch {
		case v.last.Ask == askGet:
			v.over = v.get(r, v.last.Key)
		case v.last.Ask == askPage && v.last.Page != nil:
			v.over = v.page(r, *v.last.Page)
		default:
			return
		}
		v.done()
		v.done = func() {}
	}
}

// get answers with a key, or without one.
func (c *served) get(r store.Reader, key string) error {
	if !c.caller.MayRead(store.Only(key)) {
		return c.reply(answer{}, c.caller.refuses())
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
		return c.reply(answer{}, c.caller.refuses())
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
	list := r.Page
	if p.Bare || p.Since > 0 {
		list = r.Keys
	}
	n := firstKeys
	for left, after := p.Limit, p.After; ; {
		if left >= 0 {
			n = min(n, left)
		}
		kvs, err := list(p.Prefix, after, n)
		if err != nil {
			return errors.Trace(err)
		}
		last := len(kvs) < n
		if len(kvs) > 0 {
			after = kvs[len(kvs)-1].Key
		}
		n = next(kvs, n)
		if p.Since > 0 {
			if kvs, err = since(r, kvs, p); err != nil {
				return errors.Trace(err)
			}
		}
		if left >= 0 {
			left -= len(kvs)
		}
		more := !last && left != 0
		if !fn(kvs, more, last) || !more {
			return nil
		}
	}
}

// next is how many keys are read after n of them were: so many that they fit into a piece.
func next(kvs []store.KV, n int) int {
	size := 1
	for _, kv := range kvs {
		size += len(kv.Key) + len(kv.Value)
	}
	return max(firstKeys, min(pieceKeys, 4*n, n*pieceBytes/size))
}

// since are those of the keys that were written after the revision of the page.
func since(r store.Reader, kvs []store.KV, p staged.Page) (out []store.KV, err error) {
	for _, kv := range kvs {
		if kv.Rev <= p.Since {
			continue
		}
		if !p.Bare {
			if kv, err = r.Get(kv.Key); err != nil {
				return nil, errors.Trace(err)
			}
		}
		out = append(out, kv)
	}
	return out, nil
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
