package served

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/state/store"
)

// Caller is who calls, and what he may do.
type Caller struct {
	// Name is that of the user, for the log, and Names are all that he goes by.
	Name  string
	Names []string
	store.Rights
	// Trusted: he gets the keys for secrets, and his frames may be long.
	Trusted bool
}

// Agents are asked for those who may not write the questions themselves. Errors: Unauthorized.
type Agents interface {
	// Ask asks the agent of a machine in the model with that UUID for a caller.
	Ask(ctx context.Context, c Caller, model, machine string, body json.RawMessage) (json.RawMessage, error)
	// AskSettled has all agents of the model say anew when all is settled.
	AskSettled(ctx context.Context, c Caller, model string) (rev int64, err error)
}

// Server lets others use a store. Its fields aren't changed once it serves.
type Server struct {
	Store store.Store
	// Format is that of the store: who has another one is refused.
	Format string
	// Who says what somebody who calls may do, as a view of the store has it; Unauthorized:
	// nothing. It is asked for each connection, and again within each transaction that is to be
	// committed.
	Who func(store.Reader, peer.Who) (Caller, error)
	// Agents are asked; nil: nobody is.
	Agents Agents
	// Keys are those that the values of secrets in the store are sealed with, for callers who
	// are trusted; nil: nobody gets any.
	Keys func() (string, error)
	// Log gets who was refused, and why; nil: nobody does.
	Log *slog.Logger
	// Check is what is written for a value that a caller writes at a key, or the error of one that he
	// may not write there, though he may write the key; nil: all is written as it is.
	Check func(r store.Reader, c Caller, key string, value []byte) (as []byte, err error)
	// Most is how many connections a user may have at a time; 0: 128. A watch takes one.
	Most int

	mu      sync.Mutex
	open    map[*served]bool
	users   map[int]*user // who has connections
	refused map[int]bool  // who was told no since rights have changed
	closed  bool
	done    sync.WaitGroup
	leases  leases
	limits  limits
	// commits is held for reading by who commits, and held by Hold.
	commits sync.RWMutex
}

// served is a connection with somebody who may do something.
type served struct {
	*Server
	who    peer.Who
	user   *user
	caller Caller
	conn   *net.UnixConn
	wire   *wire
	end    time.Time // until when an answer has to be read, if that is soon; zero: it isn't
	ctx    context.Context
	cancel func() // ends what the connection waits for
}

// Serve serves all who connect until the listener is closed. It returns once nobody is served
// any more.
func (s *Server) Serve(ctx context.Context, l *net.UnixListener) error {
	if s.Log == nil {
		s.Log = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	s.begin()
	ctx, stop := context.WithCancel(ctx)
	defer func() {
		s.close()
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
		if c, err := s.enter(ctx, conn); err != nil {
			s.refuse(conn, err)
		} else {
			go func() {
				defer s.leave(c)
				s.serve(c.ctx, c)
			}()
		}
	}
}

func (s *Server) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open, s.users, s.refused, s.limits = map[*served]bool{}, map[int]*user{}, map[int]bool{}, newLimits()
}

// enter notes a connection, if there is room for it.
func (s *Server) enter(ctx context.Context, conn *net.UnixConn) (*served, error) {
	who, err := peer.Of(conn)
	if err != nil {
		return nil, errors.Annotate(err, "cannot tell who calls")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || ctx.Err() != nil {
		return nil, errors.Trace(errAway)
	}
	u := s.users[who.UID]
	if u == nil {
		u = newUser()
	}
	if most := s.most(); u.conns >= most || len(s.open) >= allUsers*most {
		return nil, errors.New("the agent serves the store to too many already: try again later")
	}
	c := &served{Server: s, who: who, user: u, conn: conn, wire: newWire(conn, maxQuestion)}
	c.ctx, c.cancel = context.WithCancel(ctx)
	u.conns++
	s.users[who.UID], s.open[c] = u, true
	s.done.Add(1)
	return c, nil
}

func (s *Server) leave(c *served) {
	c.drop()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.open, c)
	if c.user.conns--; c.user.conns == 0 {
		delete(s.users, c.who.UID)
	}
	s.done.Done()
}

// close ends all connections, and has none begin.
func (s *Server) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.Drop()
}

// drop ends the connection.
func (c *served) drop() {
	c.cancel()
	c.conn.Close()
}

// Drop ends the connections that there are.
func (s *Server) Drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.refused)
	for c := range s.open {
		c.drop()
	}
}

// Changed ends the connections of those whose rights have changed: who connects again has the new
// ones.
func (s *Server) Changed(ctx context.Context) {
	s.mu.Lock()
	clear(s.refused)
	open := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	_, err := s.Store.View(ctx, func(r store.Reader) error {
		for _, c := range open {
			if now, err := s.Who(r, c.who); err != nil || !reflect.DeepEqual(now, c.rights()) {
				c.drop()
			}
		}
		return nil
	})
	if err != nil {
		s.Drop()
	}
}

// rights are those that the connection has been given.
func (c *served) rights() Caller {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.caller
}

// Hold has nobody be served until back is called: for when this process becomes another program,
// or can't. Commits that have begun are made, and answered, before it returns; those that wait
// are told that the agent is away.
func (s *Server) Hold() (back func()) {
	s.mu.Lock()
	held := s.closed
	s.closed = true
	s.mu.Unlock()
	s.commits.Lock()
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

// unknown tells the log, once, of somebody who may do nothing.
func (c *served) unknown(err error) {
	c.mu.Lock()
	told := c.refused[c.who.UID]
	c.refused[c.who.UID] = true
	c.mu.Unlock()
	if !told {
		c.Log.Info("somebody may not use the store", "uid", c.who.UID, "process", c.who.PID, "why", err.Error())
	}
}

// serve answers what one connection asks.
func (s *Server) serve(ctx context.Context, c *served) {
	var caller Caller
	var err error
	if _, failed := s.Store.View(ctx, func(r store.Reader) error {
		caller, err = s.Who(r, c.who)
		return nil
	}); failed != nil {
		err = failed
	}
	s.mu.Lock()
	c.caller = caller
	s.mu.Unlock()
	if ctx.Err() != nil {
		err = errors.Trace(errAway)
	}
	if err != nil {
		if errors.Is(err, errors.Unauthorized) {
			c.unknown(err)
		}
		s.refuse(c.conn, err)
		return
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

// next is the next question.
func (c *served) next() (q question, err error) { return q, c.malformed(c.wire.receive(&q)) }

// malformed tells the log of what nobody sends by chance.
func (c *served) malformed(err error) error {
	if errors.Is(err, errors.NotValid) {
		c.Log.Warn("the connection of somebody who uses the store was ended", "user", c.caller.Name, "err", err)
	}
	return err
}

// send sends something to who reads it in time.
func (c *served) send(v any) error {
	end := time.Now().Add(writeTime)
	if !c.end.IsZero() && c.end.Before(end) {
		end = c.end
	}
	if err := c.conn.SetWriteDeadline(end); err != nil {
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

// Refused is the error of what the caller may not do.
func (c Caller) Refused() error {
	return errors.NewUnauthorized(nil, fmt.Sprintf("the agent that has the store doesn't let %s do that", c.Name))
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
	case askAgent, askSettled:
		return c.reply(c.agents(ctx, q))
	case askCompact:
		if !c.caller.MayRead(store.Below("")) || !c.caller.MayWrite("") {
			return c.reply(answer{}, c.caller.Refused())
		}
		return c.reply(answer{}, c.Store.Compact(ctx, q.Rev))
	}
	return c.reply(answer{}, errors.NotValidf("question %.20q where no view is open", q.Ask))
}

// keys answers with the keys for secrets.
func (c *served) keys() (answer, error) {
	if !c.caller.Trusted || c.Keys == nil {
		return answer{}, c.caller.Refused()
	}
	text, err := c.Keys()
	return answer{Keys: text}, err
}

// agents asks agents. As long as that lasts the connection waits, but nobody's view.
func (c *served) agents(ctx context.Context, q question) (a answer, err error) {
	if c.Agents == nil {
		return a, errors.NotSupportedf("asking agents")
	}
	leave, err := c.user.asks.enter(ctx)
	if err != nil {
		return a, errors.Trace(err)
	}
	defer leave()
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if q.Ask == askSettled {
		a.Rev, err = c.Agents.AskSettled(ctx, c.caller, q.Model)
		return a, err
	}
	a.Body, err = c.Agents.Ask(ctx, c.caller, q.Model, q.Key, q.Body)
	return a, err
}
