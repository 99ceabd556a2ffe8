package served

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/state/store"
)

const (
	// most is how many connections a user may have at a time, and users how many times as
	// many all have together.
	most  = 256
	users = 4
	// viewTime is how long a view may take: the store keeps for it what is overwritten
	// meanwhile.
	viewTime = 2 * time.Minute
	// writeTime is how long somebody may take to read what was sent to him.
	writeTime = time.Minute
)

// Caller is who calls, and what he may do.
type Caller struct {
	// Name is that of the user, for the log.
	Name string
	store.Rights
	// Trusted: he gets the keys for secrets, and his frames may be long.
	Trusted bool
}

// Server lets others use a store. Its fields aren't changed once it serves.
type Server struct {
	Store store.Store
	// Format is that of the store: who has another one is refused.
	Format string
	// Who says what somebody who calls may do; Unauthorized: nothing. It is asked for each
	// connection.
	Who func(context.Context, peer.Who) (Caller, error)
	// Keys are those that the values of secrets in the store are sealed with, for callers who
	// are trusted; nil: nobody gets any.
	Keys func() (string, error)
	// Log gets who was refused, and why; nil: nobody does.
	Log *slog.Logger
	// Most is how many connections a user may have at a time; 0: 256. A watch takes one.
	Most int

	mu     sync.Mutex
	open   map[*served]bool
	of     map[int]int // connections by user
	closed bool
	done   sync.WaitGroup
	leases leases
	// commits is held for reading by who commits, and held by Hold.
	commits sync.RWMutex
}

// served is a connection with somebody who may do something.
type served struct {
	*Server
	who    peer.Who
	caller Caller
	conn   *net.UnixConn
	wire   *wire
}

// Serve serves all who connect until the listener is closed. It returns once nobody is served
// any more.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	if s.Log == nil {
		s.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		s.end()
		stop()
		s.done.Wait()
	}()
	for pause := time.Millisecond; ; {
		conn, err := l.AcceptUnix()
		switch {
		case errors.Is(err, net.ErrClosed):
			return nil
		case err != nil: // as where there are no descriptors left
			s.Log.Warn("cannot serve the store to one more", "err", err)
			select {
			case <-ctx.Done():
			case <-time.After(pause):
			}
			pause = min(2*pause, time.Second)
			continue
		}
		pause = time.Millisecond
		if c, err := s.enter(conn); err != nil {
			s.refuse(conn, err)
		} else {
			go func() {
				defer s.leave(c)
				s.serve(ctx, c)
			}()
		}
	}
}

// enter notes a connection, if there is room for it.
func (s *Server) enter(conn *net.UnixConn) (*served, error) {
	who, err := peer.Of(conn)
	if err != nil {
		return nil, errors.Annotate(err, "cannot tell who calls")
	}
	of := cmp.Or(s.Most, most)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return nil, errors.Trace(errAway)
	case s.of[who.UID] >= of, len(s.open) >= users*of:
		return nil, errors.New("the agent serves the store to too many already: try again later")
	case s.open == nil:
		s.open, s.of = map[*served]bool{}, map[int]int{}
	}
	c := &served{Server: s, who: who, conn: conn, wire: newWire(conn, maxQuestion)}
	s.open[c] = true
	s.of[who.UID]++
	s.done.Add(1)
	return c, nil
}

func (s *Server) leave(c *served) {
	c.conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if s.of[c.who.UID]--; s.of[c.who.UID] == 0 {
		delete(s.of, c.who.UID)
	}
	s.done.Done()
}

// end ends all connections, and has none begin.
func (s *Server) end() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.Drop()
}

// Drop ends the connections that there are. It is for when somebody's rights have changed: who
// connects again has the new ones.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.open {
		c.conn.Close()
	}
}

// Hold has nobody be served until back is called: for when this process becomes another program,
// or can't. Commits that have begun are made, and answered, before it returns.
func (s *Server) Hold() (back func()) {
	s.commits.Lock()
	s.mu.Lock()
	held := s.closed
	s.closed = true
	s.mu.Unlock()
	s.Drop()
	return func() {
		s.mu.Lock()
		s.closed = held
		s.mu.Unlock()
		s.commits.Unlock()
	}
}

// refuse says why somebody isn't served. Whoever doesn't listen isn't waited for.
func (s *Server) refuse(conn *net.UnixConn, err error) {
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
	_ = newWire(conn, 0).send(hello{Protocol: protocol, Format: s.Format, Problem: faultOf(err)})
	conn.Close()
}

// serve answers what one connection asks.
func (s *Server) serve(ctx context.Context, c *served) {
	var err error
	if c.caller, err = s.Who(ctx, c.who); err != nil {
		s.Log.Info("somebody may not use the store", "uid", c.who.UID, "process", c.who.PID, "why", err.Error())
		s.refuse(c.conn, err)
		return
	}
	if c.caller.Trusted {
		c.wire.most = maxCommit
	}
	if c.send(hello{Protocol: protocol, Format: s.Format}) != nil {
		return
	}
	for err == nil {
		var q question
		if q, err = c.next(); err == nil {
			err = c.answer(ctx, q)
		}
	}
}

// next is the next question. The log is told of what nobody sends by chance.
func (c *served) next() (q question, err error) {
	err = c.wire.receive(&q)
	if errors.Is(err, errors.NotValid) {
		c.Log.Warn("the connection of somebody who uses the store was ended", "user", c.caller.Name, "err", err)
	}
	return q, err
}

// send sends something to who reads it in time.
func (c *served) send(v any) error {
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
		return errors.Trace(err)
	}
	return c.wire.send(v)
}

// reply is send for an answer with an error in the place of what it should have been.
func (c *served) reply(a answer, err error) error {
	if err != nil {
		a = answer{Problem: faultOf(err)}
	}
	return c.send(a)
}

// refused is the error of what the caller may not do.
func (c *served) refused() error {
	return errors.NewUnauthorized(nil, fmt.Sprintf("the agent that has the store doesn't let %s do that", c.caller.Name))
}

// answer answers a question. The error is that of a connection that is over.
func (c *served) answer(ctx context.Context, q question) error {
	switch q.Ask {
	case askView:
		return c.view(ctx)
	case askWatch:
		return c.watch(ctx, q.Of, q.Rev)
	case askGrant, askKeep, askRevoke:
		return c.reply(c.lease(ctx, q))
	case askKeys:
		return c.reply(c.keys())
	case askCompact:
		if !c.caller.MayRead(store.Below("")) || !c.caller.MayWrite("") {
			return c.reply(answer{}, c.refused())
		}
		return c.reply(answer{}, c.Store.Compact(ctx, q.Rev))
	}
	return c.reply(answer{}, errors.NotValidf("question %.20q where no view is open", q.Ask))
}

// keys answers with the keys for secrets.
func (c *served) keys() (answer, error) {
	if !c.caller.Trusted || c.Keys == nil {
		return answer{}, c.refused()
	}
	text, err := c.Keys()
	return answer{Keys: text}, err
}
