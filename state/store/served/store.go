package served

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/staged"
)

// Scheme is what the name of a store begins with that an agent serves: the path of its socket
// follows.
const Scheme = "agent:"

const (
	// connecting is how long Open waits for an agent that isn't there, or that begins anew,
	// and patience how long others do who had found it.
	connecting = 3 * time.Second
	patience   = 20 * time.Second
	// again is the pause before that is tried anew.
	again = 20 * time.Millisecond
	// mostIdle is how many connections are kept.
	mostIdle = 4
)

// Path is the path of the socket in the name of a store. The error is NotValid.
func Path(name string) (string, error) {
	path, ok := strings.CutPrefix(name, Scheme)
	if !ok || !filepath.IsAbs(path) {
		return "", errors.NewNotValid(nil, fmt.Sprintf("%q is not a store that an agent serves: name one like %s/run/unitd-agent/store.socket", name, Scheme))
	}
	return filepath.Clean(path), nil
}

// Options say where the store is served. Path and Format are needed.
type Options struct {
	Path string // of the socket
	// Format is the one that this program has: the store's has to be the same.
	Format string
	Log    *slog.Logger // gets what goes wrong in the background; nil: nowhere
}

// Store is a store that an agent serves. It is a store.Store.
type Store struct {
	path, format string
	log          *slog.Logger
	life         *staged.Life

	mu   sync.Mutex
	idle []*conn
}

var _ store.Store = (*Store)(nil)

// Open connects to the agent. Errors: NotFound where no agent serves its store there,
// Unauthorized where it lets this user do nothing, NotValid where it is a unitd that this one
// doesn't understand.
func Open(ctx context.Context, o Options) (*Store, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s := &Store{path: o.Path, format: o.Format, log: o.Log, life: staged.NewLife()}
	c, err := s.dial(ctx, connecting)
	if err != nil {
		s.Close()
		return nil, errors.Trace(err)
	}
	s.keep(c)
	return s, nil
}

// conn is a connection with the agent. It is used by one goroutine at a time.
type conn struct {
	*net.UnixConn
	wire *wire
	late bool // its time was over: nobody can use it any more
}

// dial connects, for as long as there is patience with an agent that isn't there.
func (s *Store) dial(ctx context.Context, patience time.Duration) (*conn, error) {
	for late := time.Now().Add(patience); ; {
		c, err := s.knock(ctx)
		if err == nil {
			return c, nil
		}
		if gone := s.life.Gone(ctx); gone != nil {
			return nil, gone
		}
		if !absent(err) {
			return nil, err
		}
		if time.Now().After(late) {
			return nil, errors.NewNotFound(nil, fmt.Sprintf("no agent serves its store at %s: see that it runs, as \"unitd agent --store-socket %s\"", s.path, s.path))
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// absent says whether it is the error of an agent that isn't there, or goes away.
func absent(err error) bool {
	for _, e := range []error{fs.ErrNotExist, syscall.EAGAIN, syscall.ECONNREFUSED, syscall.ECONNRESET, syscall.EPIPE, io.EOF, io.ErrUnexpectedEOF, errAway} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// knock connects once.
func (s *Store) knock(ctx context.Context) (*conn, error) {
	raw, err := (&net.Dialer{Timeout: connecting}).DialContext(ctx, "unix", s.path)
	if errors.Is(err, fs.ErrPermission) {
		return nil, errors.NewUnauthorized(nil, fmt.Sprintf("this user may not connect to %s", s.path))
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	c := &conn{UnixConn: raw.(*net.UnixConn), wire: newWire(raw, maxAnswer)}
	var said hello
	waiting, stop := context.WithTimeout(ctx, patience)
	unhook := c.until(waiting)
	err = c.wire.receive(&said)
	unhook()
	late := errors.Is(waiting.Err(), context.DeadlineExceeded) && ctx.Err() == nil
	stop()
	if late {
		err = errors.NewTimeout(nil, fmt.Sprintf("the agent at %s doesn't answer", s.path))
	}
	if err == nil {
		err = s.understood(said)
	}
	if err != nil {
		c.Close()
		return nil, errors.Trace(err)
	}
	return c, nil
}

// understood is the error of what the other end says if it can't be talked to.
func (s *Store) understood(said hello) error {
	switch {
	case said.Protocol == 0:
		return errors.NewNotValid(nil, s.path+" isn't the socket at which an agent serves its store")
	case said.Problem != nil:
		return errors.Trace(said.Problem.error())
	case said.Protocol != protocol || said.Format != s.format:
		return errors.NewNotValid(nil, fmt.Sprintf("the agent at %s is another unitd, with stores of format %s (this one's: %s): use the agent's", s.path, said.Format, s.format))
	}
	return nil
}

// until ends what waits for the connection when the context ends; unhook ends that.
func (c *conn) until(ctx context.Context) (unhook func()) {
	stop := context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })
	return func() { c.late = !stop() || c.late }
}

// take is a connection: one that is idle, or a new one.
func (s *Store) take(ctx context.Context) (*conn, error) {
	s.mu.Lock()
	if n := len(s.idle); n > 0 {
		c := s.idle[n-1]
		s.idle = s.idle[:n-1]
		s.mu.Unlock()
		return c, nil
	}
	s.mu.Unlock()
	return s.dial(ctx, patience)
}

// keep takes a connection back on which nothing is on its way.
func (s *Store) keep(c *conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.life.Ended() || c.late || len(s.idle) >= mostIdle {
		c.Close()
		return
	}
	s.idle = append(s.idle, c)
}

// ask asks a question. An error that isn't a *refusal is the connection's.
func (c *conn) ask(q question) (answer, error) {
	if err := c.wire.send(q); err != nil {
		return answer{}, errors.Trace(err)
	}
	return c.hear()
}

// hear is an answer to what was asked, with errors as ask has them.
func (c *conn) hear() (a answer, err error) {
	if err := c.wire.receive(&a); err != nil {
		return a, errors.Trace(err)
	}
	if a.Problem != nil {
		return a, &refusal{a.Problem.error()}
	}
	return a, nil
}

// refusal is an error that the agent has answered with; the connection goes on.
type refusal struct{ error }

// Unwrap is what the agent has said.
func (r *refusal) Unwrap() error { return r.error }

// begin asks the first question of a connection, and asks again, on another one, where the agent
// goes away: one that is upgraded is back at once. What is asked may be asked twice without
// harm. unhook has to be called before the connection is kept.
func (s *Store) begin(ctx context.Context, q question) (c *conn, a answer, unhook func(), err error) {
	for late := time.Now().Add(patience); ; {
		if c, err = s.take(ctx); err != nil {
			return nil, a, nil, errors.Trace(err)
		}
		unhook = c.until(ctx)
		a, err = c.ask(q)
		if err == nil {
			return c, a, unhook, nil
		}
		unhook()
		if s.over(c, err) && absent(err) && ctx.Err() == nil && time.Now().Before(late) {
			continue
		}
		return nil, a, nil, s.said(ctx, err)
	}
}

// over puts a connection away after an error, and says whether it was the connection's.
func (s *Store) over(c *conn, err error) bool {
	if _, refused := err.(*refusal); refused {
		s.keep(c)
		return false
	}
	c.Close()
	return true
}

// said is an error of a connection as callers get it.
func (s *Store) said(ctx context.Context, err error) error {
	if r, ok := err.(*refusal); ok {
		return r.error
	}
	if gone := s.life.Gone(ctx); gone != nil {
		return gone
	}
	if absent(err) {
		return errors.NewTimeout(nil, fmt.Sprintf("the agent that serves its store at %s has gone away: try again", s.path))
	}
	return errors.Annotatef(err, "the agent at %s", s.path)
}

// Close is part of store.Store.
func (s *Store) Close() error {
	s.life.End(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, c := range s.idle {
			c.Close()
		}
		s.idle = nil
	})
	return nil
}

// simple asks a question that is over with its answer.
func (s *Store) simple(ctx context.Context, q question) (answer, error) {
	ctx, leave, err := s.life.Enter(ctx)
	if err != nil {
		return answer{}, errors.Trace(err)
	}
	defer leave()
	c, a, unhook, err := s.begin(ctx, q)
	if err != nil {
		return a, err
	}
	unhook()
	s.keep(c)
	return a, nil
}

// Grant is part of store.Store.
func (s *Store) Grant(ctx context.Context, ttl time.Duration) (store.LeaseID, error) {
	a, err := s.simple(ctx, question{Ask: askGrant, TTL: ttl})
	return a.Lease, errors.Annotate(err, "cannot make a lease")
}

// KeepAlive is part of store.Store.
func (s *Store) KeepAlive(ctx context.Context, id store.LeaseID) error {
	_, err := s.simple(ctx, question{Ask: askKeep, Lease: id})
	return errors.Annotatef(err, "cannot keep lease %d alive", id)
}

// Revoke is part of store.Store. Only who has made the lease may end it, and who may write
// everything.
func (s *Store) Revoke(ctx context.Context, id store.LeaseID) error {
	_, err := s.simple(ctx, question{Ask: askRevoke, Lease: id})
	return errors.Annotatef(err, "cannot end lease %d", id)
}

// Compact is part of store.Store. Only who may write everything may do it.
func (s *Store) Compact(ctx context.Context, rev int64) error {
	_, err := s.simple(ctx, question{Ask: askCompact, Rev: rev})
	return errors.Annotate(err, "cannot compact the store")
}

// Keys are those that the values of secrets in the store are sealed with. Unauthorized: they
// aren't for who only reads.
func (s *Store) Keys(ctx context.Context) (string, error) {
	a, err := s.simple(ctx, question{Ask: askKeys})
	return a.Keys, errors.Annotate(err, "cannot get the keys for secrets")
}

// AskAgent has the server ask the agent of a machine in a model, by its UUID. Errors:
// Unauthorized.
func (s *Store) AskAgent(ctx context.Context, model, machine string, body json.RawMessage) (json.RawMessage, error) {
	a, err := s.simple(ctx, question{Ask: askAgent, Model: model, Key: machine, Body: body})
	return a.Body, errors.Trace(err)
}

// AskSettled has the server ask all agents of a model, by its UUID, to say anew when all is
// settled, and is the revision that this has. Errors: Unauthorized.
func (s *Store) AskSettled(ctx context.Context, model string) (rev int64, err error) {
	a, err := s.simple(ctx, question{Ask: askSettled, Model: model})
	return a.Rev, errors.Trace(err)
}
