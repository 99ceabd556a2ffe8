package served

import (
	"context"
	"encoding/json"
	"slices"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// viewing is a view that the agent has open for this end.
type viewing struct {
	s      *Store
	ctx    context.Context
	c      *conn // nil: it is over
	unhook func()
	rev    int64
	err    error // that of a connection that is over, for callers
	lost   error // as it was
}

var _ staged.Below = (*viewing)(nil)

// open begins a view.
func (s *Store) open(ctx context.Context) (*viewing, error) {
	c, a, unhook, err := s.begin(ctx, question{Ask: askView})
	if err != nil {
		return nil, errors.Trace(err)
	}
	return &viewing{s: s, ctx: ctx, c: c, unhook: unhook, rev: a.Rev}, nil
}

// close ends a view whose connection nobody can use any more, if it still has one.
func (v *viewing) close() {
	if v.c != nil {
		v.unhook()
		v.c.Close()
		v.c = nil
	}
}

// heard has the connection be over after an error that is its own.
func (v *viewing) heard(err error) error {
	if err == nil {
		return nil
	}
	if _, refused := err.(*refusal); !refused {
		v.close()
		v.err, v.lost = v.s.said(v.ctx, err), err
		return v.err
	}
	return v.s.said(v.ctx, err)
}

// ask asks a question of the view. If the agent has gone away, as one does that is upgraded, and
// the one that comes has the same revision, the view goes on there.
func (v *viewing) ask(q question) (answer, error) {
	if v.c == nil {
		return answer{}, errors.Trace(v.err)
	}
	a, err := v.c.ask(q)
	if absent(err) && v.ctx.Err() == nil && v.resumed() == v.rev {
		a, err = v.c.ask(q)
	}
	return a, v.heard(err)
}

// end ends the view once all that it has shown is durable: also by a later view, of the agent
// that has come in the place of one that has gone away.
func (v *viewing) end() (rev int64, err error) {
	if v.c == nil {
		return 0, errors.Trace(v.err)
	}
	_, err = v.c.ask(question{Ask: askEnd})
	if absent(err) && v.ctx.Err() == nil && v.resumed() >= v.rev {
		_, err = v.c.ask(question{Ask: askEnd})
	}
	err = v.heard(err)
	v.keep()
	return v.rev, err
}

// resumed has another connection, with a view of its own, in the place of one that was lost, and
// is its revision; 0: there is none.
func (v *viewing) resumed() int64 {
	v.unhook()
	v.c.Close()
	c, a, unhook, err := v.s.begin(v.ctx, question{Ask: askView})
	if err != nil {
		return 0 // what was lost stays so
	}
	v.c, v.unhook = c, unhook
	return a.Rev
}

// keep hands the connection back.
func (v *viewing) keep() {
	if v.c != nil {
		v.unhook()
		v.s.keep(v.c)
		v.c = nil
	}
}

// commit ends the view, and asks for a commit.
func (v *viewing) commit(w commit) (answer, error) {
	if v.c == nil {
		return answer{}, errors.Trace(v.err)
	}
	q := question{Ask: askCommit, Write: &w}
	if b, err := json.Marshal(q); err != nil || len(b) > maxCommit {
		return answer{}, errors.Annotate(store.ErrTooLarge, "it has read and written too much")
	}
	if err := v.c.wire.send(q); absent(err) && v.ctx.Err() == nil {
		return answer{Lost: true}, nil // nobody has it whole, so it can be tried again
	} else if err != nil {
		return answer{}, v.heard(err)
	}
	a, err := v.c.hear()
	if errors.Is(err, errAway) {
		return answer{Lost: true}, nil
	}
	err = v.heard(err)
	if v.c == nil {
		err = errors.Annotate(err, "it isn't known whether it was written")
	}
	v.keep()
	return a, err
}

// Begin is part of staged.Below.
func (v *viewing) Begin() error { return errors.Trace(v.err) }

// Rev is part of staged.Below, and of store.Reader.
func (v *viewing) Rev() int64 { return v.rev }

// Get is part of staged.Below.
func (v *viewing) Get(key string) (store.KV, error) {
	a, err := v.ask(question{Ask: askGet, Key: key})
	if err != nil {
		return store.KV{}, errors.Trace(err)
	}
	if len(a.KVs) != 1 {
		return store.KV{Key: key}, nil
	}
	return a.KVs[0], nil
}

// Page is part of staged.Below.
func (v *viewing) Page(p staged.Page) (kvs []store.KV, last bool, err error) {
	a, err := v.ask(question{Ask: askPage, Page: &p})
	for {
		if err != nil {
			return nil, false, errors.Trace(err)
		}
		kvs = append(kvs, a.KVs...)
		if !a.More {
			return kvs, a.Last, nil
		}
		a, err = v.c.hear()
		err = v.heard(err)
	}
}

// View is part of store.Store.
func (s *Store) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return 0, errors.Trace(err)
	}
	defer leave()
	v, err := s.open(ctx)
	if err != nil {
		return 0, errors.Annotate(err, "cannot read the store")
	}
	defer v.close()
	failed := fn(staged.New(v))
	// What an error of fn says of the store has to be durable too. An agent that has gone away
	// since may have shown what isn't.
	rev, err := v.end()
	if failed != nil {
		return 0, failed
	}
	return rev, errors.Annotate(err, "cannot read the store")
}

// transaction is an Update at work: what it reads is remembered, to be read again when it is
// committed.
type transaction struct {
	*viewing
	got   map[string]int64
	pages []listed
}

// Get is part of staged.Below.
func (t *transaction) Get(key string) (store.KV, error) {
	kv, err := t.viewing.Get(key)
	if err == nil {
		t.got[key] = kv.Rev
	}
	return kv, err
}

// Page is part of staged.Below.
func (t *transaction) Page(p staged.Page) ([]store.KV, bool, error) {
	kvs, last, err := t.viewing.Page(p)
	if err == nil {
		of := newSum()
		of.add(kvs)
		t.pages = append(t.pages, listed{p, of.String()})
	}
	return kvs, last, err
}

// Update is part of store.Store.
func (s *Store) Update(ctx context.Context, fn func(store.Tx) error, opts ...store.Option) (int64, error) {
	relaxed := slices.Contains(opts, store.Relaxed)
	return s.life.Update(ctx, func(ctx context.Context) (int64, bool, error) { return s.try(ctx, fn, relaxed) })
}

// try makes one attempt; done is false if somebody else was faster.
func (s *Store) try(ctx context.Context, fn func(store.Tx) error, relaxed bool) (rev int64, done bool, err error) {
	v, err := s.open(ctx)
	if err != nil {
		return 0, false, errors.Annotate(err, "cannot write to the store")
	}
	defer v.close()
	t := &transaction{viewing: v, got: map[string]int64{}}
	tx := staged.New(t)
	failed := fn(tx)
	if failed == nil {
		failed = tx.Err()
	}
	if failed != nil && absent(v.lost) {
		return 0, false, nil // nothing was written, so all can be done again
	}
	if failed != nil || len(tx.Writes()) == 0 {
		rev, err := v.end()
		if failed != nil {
			return 0, false, failed
		}
		return rev, true, errors.Annotate(err, "cannot write to the store")
	}
	a, err := v.commit(commit{Got: t.got, Pages: t.pages, Writes: tx.Writes(), Relaxed: relaxed})
	return a.Rev, err == nil && !a.Lost, errors.Annotate(err, "cannot write to the store")
}
