package served

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"os"
	"slices"
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
	v := &view{served: c}
	rev, err := c.Store.View(viewing, func(r store.Reader) error {
		v.serve(r)
		return nil
	})
	over()
	c.end = time.Time{}
	late := errors.Is(v.over, os.ErrDeadlineExceeded)
	if late {
		v.over = nil
	}
	if v.over == nil {
		v.over = c.conn.SetReadDeadline(time.Time{})
	}
	switch {
	case v.over != nil:
		return errors.Trace(v.over)
	case err != nil && !v.begun:
		return c.reply(answer{}, err)
	case late:
		_ = c.reply(answer{}, errors.NewTimeout(nil, fmt.Sprintf("a view of the store may take %s", viewTime)))
		return errors.Trace(os.ErrDeadlineExceeded)
	case v.large > 0:
		return c.largeCommit(ctx, v.large)
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
	last  question // the one that has ended it
	large int64    // how long the frame is that has ended it, of somebody who may send such; 0: it isn't large
	over  error    // that of a connection that is over
}

// serve answers what is asked about the view.
func (v *view) serve(r store.Reader) {
	v.begun = true
	v.over = v.send(answer{Rev: r.Rev()})
	for v.over == nil {
		if v.read(); v.over != nil || v.large > 0 {
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
	}
}

// read reads the next question, but for a large one.
func (v *view) read() {
	most := int64(maxQuestion)
	if v.caller.Trusted {
		most = maxCommit
	}
	n, err := v.wire.size(most)
	if err == nil && n > maxQuestion {
		v.large = n
		return
	}
	v.last = question{}
	if err == nil {
		err = v.wire.body(n, &v.last)
	}
	v.over = v.malformed(err)
}

// largeCommit reads a large frame, which has to be a commit, and makes it: after its view, so that
// nobody waits for it. There is room for a few of those at a time.
func (c *served) largeCommit(ctx context.Context, n int64) error {
	leave, err := c.limits.large.enter(ctx)
	if err != nil {
		return errors.Trace(err)
	}
	defer leave()
	if err := c.conn.SetReadDeadline(time.Now().Add(frameTime)); err != nil {
		return errors.Trace(err)
	}
	var q question
	if err := c.malformed(c.wire.body(n, &q)); err != nil {
		return errors.Trace(err)
	}
	if err := c.conn.SetReadDeadline(time.Time{}); err != nil {
		return errors.Trace(err)
	}
	if q.Ask != askCommit || q.Write == nil {
		return c.reply(answer{}, errors.NotValidf("large question %.20q", q.Ask))
	}
	return c.makeCommit(ctx, *q.Write)
}

// get answers with a key, or without one.
func (c *served) get(r store.Reader, key string) error {
	if !c.caller.MayRead(store.Only(key)) {
		return c.reply(answer{}, c.caller.Refused())
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
		return c.reply(answer{}, c.caller.Refused())
	}
	var over error
	err := read(r, p, func(kvs []store.KV, more, last bool) bool {
		over = c.send(answer{KVs: kvs, More: more, Last: last})
		return over == nil
	})
	if over == nil && err != nil {
		over = c.reply(answer{}, err)
	}
	return errors.Trace(over)
}

// read calls fn with the pieces of a page, while it returns true: more says that another one
// follows, and last that there are no keys after these. Values are read one by one, as some of
// them are large.
func read(r store.Reader, p staged.Page, fn func(kvs []store.KV, more, last bool) bool) error {
	for left, after := p.Limit, p.After; ; {
		n := pieceKeys
		if left >= 0 && p.Since == 0 {
			n = min(n, left)
		}
		kvs, err := r.Keys(p.Prefix, after, n)
		if err != nil {
			return errors.Trace(err)
		}
		last := len(kvs) < n
		if len(kvs) > 0 {
			after = kvs[len(kvs)-1].Key
		}
		if p.Since > 0 {
			kvs = slices.DeleteFunc(kvs, func(kv store.KV) bool { return kv.Rev <= p.Since })
		}
		if left >= 0 {
			kvs = kvs[:min(left, len(kvs))]
			left -= len(kvs)
		}
		more := !last && left != 0
		if p.Bare {
			if !fn(kvs, more, last) || !more {
				return nil
			}
			continue
		}
		if on, err := values(r, kvs, more, last, fn); err != nil || !on || !more {
			return errors.Trace(err)
		}
	}
}

// values calls fn with the keys and their values, in as many pieces as they need, and says whether
// it wants more.
func values(r store.Reader, kvs []store.KV, more, last bool, fn func(kvs []store.KV, more, last bool) bool) (on bool, err error) {
	size, from := 0, 0
	for i := range kvs {
		if kvs[i], err = r.Get(kvs[i].Key); err != nil {
			return false, errors.Trace(err)
		}
		if size += len(kvs[i].Value); size >= pieceBytes && i+1 < len(kvs) {
			if !fn(kvs[from:i+1], true, false) {
				return false, nil
			}
			clear(kvs[from : i+1])
			size, from = 0, i+1
		}
	}
	return fn(kvs[from:], more, last), nil
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
