package tools

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"log/slog"
	"net"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/tools/wire"
)

const (
	// maxConnections bounds how many callers are served at a time, and with
	// that the memory they can take; more of them queue.
	maxConnections = 128
	// patience is how long a caller may take for the next piece of its request
	// or of its reply.
	patience = 10 * time.Second
)

// Server is a unit's socket for hook tools. It lives as long as the unit's
// agent, and serves one hook run after the other: Begin opens it for a run and
// End closes it. Calls of one run are served at once, except where its Context
// makes them wait for each other.
//
// Only processes of the agent's own user, and root's, are served, or of whom
// ServeUser says, and only those that know the run's context id.
type Server struct {
	log      *slog.Logger
	path     string // where the socket should be; see Addr
	near     bool   // see ListenNear
	patience time.Duration
	slots    chan struct{} // one for each connection that is being served
	serving  sync.WaitGroup

	mu      sync.Mutex
	socket  *socket // never nil, but it may be closed
	run     *run    // nil between hooks
	onCall  func(Call)
	relieve func() bool
	outside func(context.Context, wire.Request) wire.Reply
	open    Opener
	callers callers // see ServeUser and ServeRange
	giveBy  func(path string, uid int) error
	clients map[net.Conn]bool
	closed  bool
	accepts bool
	known   func(wire.Request) (wire.Reply, bool) // see Foreknow
	frozen  *frost                                // nil: calls are served
	active  int                                   // connections that were accepted and aren't done
}

// run is one hook run that calls are taken for.
type run struct {
	id    string
	ctx   *hookcontext.Context
	calls sync.WaitGroup
	ended chan struct{} // closed by End
}

// Call tells of one tool call. Tool, Args, Code and Duration, for history, have
// no values: neither what key=value arguments gave, nor standard input, nor
// output. The rest has them all, for a recording; its bytes are not to be
// changed.
type Call struct {
	Tool     string
	Args     []string
	Code     int
	Duration time.Duration

	Began   time.Time
	Request wire.Request
	Reply   wire.Reply
	// Within: it is part of a batch, of which there is a Call after its own ones.
	Within bool
	// File is what the tool has read from the file that --file names; nil:
	// nothing.
	File []byte
}

// OpenBy has the files that callers name opened by open from now on: callers
// may have another root directory than the agent.
func (s *Server) OpenBy(open Opener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open = open
}

// ServeUser has the processes of a user served as well, whom hooks run as in place of
// the agent's, and the socket belong to that one.
func (s *Server) ServeUser(uid int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.callers.hooks == uid {
		return nil
	}
	s.callers.hooks = uid
	return errors.Annotate(s.socket.give(uid, s.giveBy), "cannot have hooks find their tools")
}

// ServeRange has the processes of users with those ids served as well: of all that
// there are in the unit's machine, which has them for itself.
func (s *Server) ServeRange(first, size int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.callers.first, s.callers.size = first, size
}

// GiveBy has the socket's file given to whom hooks run as by a function, at once and from
// now on: who isn't root may have it done.
func (s *Server) GiveBy(give func(path string, uid int) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.giveBy = give
	return errors.Annotate(s.socket.give(s.callers.hooks, give), "cannot have hooks find their tools")
}

func (s *Server) mayCall(uid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.callers.may(uid, os.Geteuid())
}

// Relieve has f called where no call can be accepted, for lack of descriptors most
// likely; it says whether it was able to help.
func (s *Server) Relieve(f func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.relieve = f
}

// OnCall has f told of each call from now on, before its caller has the reply:
// the caller, and End, wait for f. It may be called many times at once.
func (s *Server) OnCall(f func(Call)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.onCall = f
}

// Begin opens the server for a run with that context and returns the run's
// id, JUJU_CONTEXT_ID: 128 bits of chance that only the hook is told. A run
// that was still open is ended first.
func (s *Server) Begin(c *hookcontext.Context) (contextID string) {
	secret := make([]byte, 16)
	rand.Read(secret) // never fails: see its documentation
	id := string(c.Unit()) + "-" + c.Hook().Name() + "-" + hex.EncodeToString(secret)
	s.Resume(c, id)
	return id
}

// Resume is Begin for a run that has an id already, which its hook was told.
func (s *Server) Resume(c *hookcontext.Context, contextID string) {
	s.End()
	s.mu.Lock()
	s.run = &run{id: contextID, ctx: c, ended: make(chan struct{})}
	s.mu.Unlock()
	s.begin()
}

// End closes the server for the run: it waits for the calls that have begun,
// and refuses all others of that id, however late they come. Afterwards the
// context is nobody's but the caller's.
func (s *Server) End() {
	s.mu.Lock()
	ended := s.run
	s.run = nil
	s.mu.Unlock()
	if ended != nil {
		close(ended.ended)
		ended.calls.Wait()
	}
}

// Close ends the run, hangs up on whoever is connected, and removes the
// socket. It returns when nothing is running any more.
func (s *Server) Close() error {
	s.End()
	s.mu.Lock()
	s.closed = true
	for c := range s.clients {
		c.Close()
	}
	socket := s.socket
	s.mu.Unlock()
	err := socket.Close()
	s.serving.Wait()
	return errors.Trace(err)
}

func (s *Server) accept(socket *socket) {
	defer s.serving.Done()
	for {
		s.slots <- struct{}{}
		conn, err := socket.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			<-s.slots
			return
		}
		if errors.Is(err, os.ErrDeadlineExceeded) {
			<-s.slots
			s.standBy()
			continue
		}
		if err != nil {
			// Out of descriptors, most likely: others must give theirs back first.
			s.mu.Lock()
			relieve := s.relieve
			s.mu.Unlock()
			if relieve != nil && relieve() {
				<-s.slots
				continue
			}
			s.log.Error("cannot accept a hook tool call", "err", err)
			<-s.slots
			time.Sleep(100 * time.Millisecond)
			continue
		}
		s.serving.Add(1)
		s.count(1)
		go func() {
			defer s.serving.Done()
			defer s.count(-1)
			defer func() { <-s.slots }()
			s.serve(conn)
		}()
	}
}

func (s *Server) serve(conn *net.UnixConn) {
	defer conn.Close()
	if !s.add(conn) {
		return
	}
	defer s.remove(conn)
	reply, ok := s.answer(conn)
	if !ok {
		return
	}
	// A failure is the caller's: it is gone, or it doesn't read.
	_, _ = (&patient{conn, s.patience}).Write(wire.AppendReply(nil, reply))
}

// answer reads the request and runs it. It is false for a peer that sends
// none.
func (s *Server) answer(conn *net.UnixConn) (wire.Reply, bool) {
	uid, err := peerUID(conn)
	if err != nil {
		s.log.Error("cannot tell who calls a hook tool", "err", err)
		return badRequest("permission denied"), true
	}
	if !s.mayCall(uid) {
		s.log.Warn("hook tool call refused", "uid", uid)
		return badRequest("permission denied"), true
	}
	req, err := wire.ReadRequest(&patient{conn, s.patience})
	switch {
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, wire.ErrVersion), errors.Is(err, wire.ErrFormat):
		return badRequest(err.Error()), true
	case err != nil:
		return wire.Reply{}, false
	}
	if reply, ok := s.fromOutside(conn, req); ok {
		return reply, true
	}
	current := s.join(req.Context)
	if current == nil {
		return notRunning(), true
	}
	return s.answerIn(current, req), true
}

// answerIn is the answer to a call in a run. One that has ended the run has none
// before all that the hook has started is gone, and no further call is made:
// else the hook would go on for as long as it takes to end it.
func (s *Server) answerIn(r *run, req wire.Request) wire.Reply {
	if reply, ok := s.callUnlessOver(r, req); ok {
		return reply
	}
	<-r.ended
	return notRunning()
}

func (s *Server) callUnlessOver(r *run, req wire.Request) (reply wire.Reply, ok bool) {
	defer r.calls.Done()
	if r.ctx.Over() {
		return reply, false
	}
	reply = s.call(r.ctx, req)
	return reply, !r.ctx.Over()
}

func notRunning() wire.Reply { return badRequest("the context id is not that of a running hook") }

// call runs the tool and tells of it. A tool that panics fails alone.
func (s *Server) call(c *hookcontext.Context, req wire.Request) (reply wire.Reply) {
	if reply, ok := s.foreknown(req); ok {
		return reply
	}
	return s.callIn(c, req, func(one wire.Request) wire.Reply { return s.callIn(c, one, nil) })
}

// callIn is call; one makes the calls of a batch, and is nil for these.
func (s *Server) callIn(c *hookcontext.Context, req wire.Request, one func(wire.Request) wire.Reply) (reply wire.Reply) {
	began := time.Now()
	var file []byte
	defer func() {
		if p := recover(); p != nil {
			s.log.Error("hook tool panicked", "panic", p, "stack", string(debug.Stack()))
			reply = failure(exitFailed, errors.New("hook tool panicked; see the agent's log"))
		}
		s.tell(Call{Code: reply.Code, Duration: time.Since(began), Began: began, Request: req, Reply: reply, File: file, Within: one == nil})
	}()
	s.mu.Lock()
	open := s.open
	s.mu.Unlock()
	reply, file = runTool(c, req, open, one)
	if reply.Code == exitUsage && req.Args[0] == batchName {
		req.Stdin = nil // it wasn't read as calls, so nobody knows what secrets are in it
	}
	return reply
}

// tell adds the tool and its arguments to a call, and tells of it.
func (s *Server) tell(c Call) {
	s.mu.Lock()
	onCall := s.onCall
	s.mu.Unlock()
	args := c.Request.Args
	if onCall == nil || c.Code == wire.NeedStdin || len(args) == 0 {
		return
	}
	tool, _ := find(args[0])
	c.Tool, c.Args = args[0], withoutValues(tool, args[1:])
	onCall(c)
}

// join counts a call in with the run of that id; nil if there is none.
func (s *Server) join(id string) *run {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.run == nil || subtle.ConstantTimeCompare([]byte(id), []byte(s.run.id)) == 0 {
		return nil
	}
	s.run.calls.Add(1)
	return s.run
}

func (s *Server) add(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clients[c] = !s.closed
	return !s.closed
}

func (s *Server) remove(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.clients, c)
}
