package recording

import (
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/unitd/unitd/tools/wire"
)

// patience is how long a caller may take to say what it wants, and to read the
// answer.
const patience = 10 * time.Second

// Server is a hook tools' socket that a Player answers. Who can reach the
// socket is the business of whoever has made it.
type Server struct {
	player   *Player
	context  string
	listener net.Listener
	onCall   func(Answered)

	mu      sync.Mutex // for the player, onCall and over
	over    bool       // a call has ended the run
	serving sync.WaitGroup
	conns   sync.Map // of net.Conn
}

// Answered is a call that was answered.
type Answered struct {
	Number int
	Call   Call // with its answer
	// Recorded is the number of the recorded call that had the answer; 0: there
	// was none.
	Recorded int
	// Ends: by unitd-fail the run is over, and whoever runs the hook has to kill
	// it. Neither this call nor a later one gets an answer.
	Ends bool
}

// Serve answers calls of that context id until Close. onCall, which may be nil,
// is told of each, one after the other.
func Serve(l net.Listener, p *Player, context string, onCall func(Answered)) *Server {
	s := &Server{player: p, context: context, listener: l, onCall: onCall}
	s.serving.Add(1)
	go s.accept()
	return s
}

// Close ends the server, hangs up on whoever is connected, and returns when
// nothing is served any more.
func (s *Server) Close() error {
	err := s.listener.Close()
	s.conns.Range(func(conn, _ any) bool {
		conn.(net.Conn).Close()
		return true
	})
	s.serving.Wait()
	return err
}

func (s *Server) accept() {
	defer s.serving.Done()
	for {
		conn, err := s.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			time.Sleep(10 * time.Millisecond) // out of descriptors, most likely
			continue
		}
		s.conns.Store(conn, true)
		s.serving.Add(1)
		go func() {
			defer s.serving.Done()
			defer s.conns.Delete(conn)
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			reply, ok := s.answer(conn)
			switch {
			case ok && s.ended():
				_, _ = io.Copy(io.Discard, conn) // until the caller is gone, as its hook
			case ok:
				_, _ = conn.Write(wire.AppendReply(nil, reply)) // a caller that has gone needs none
			}
		}()
	}
}

// answer is false for a caller that asks nothing.
func (s *Server) answer(from io.Reader) (wire.Reply, bool) {
	req, err := wire.ReadRequest(from)
	switch {
	case errors.Is(err, wire.ErrTooLarge), errors.Is(err, wire.ErrVersion), errors.Is(err, wire.ErrFormat):
		return refusal(err.Error()), true
	case err != nil:
		return wire.Reply{}, false
	case req.Context != s.context:
		return refusal("the context id is not that of a running hook"), true
	case len(req.Args) == 0 || req.Args[0] == "":
		return refusal("command not specified"), true
	}
	c := Call{Args: req.Args, StdinSet: req.StdinSet, Stdin: req.Stdin}
	if !c.StdinSet {
		c.File = readFile(req)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over {
		return wire.Reply{}, true
	}
	reply, number, recorded := s.player.Answer(c)
	s.over = c.Args[0] == "unitd-fail" && reply.Code == 0
	if s.onCall != nil && number > 0 {
		c.Code, c.Stdout, c.Stderr = reply.Code, reply.Stdout, reply.Stderr
		s.onCall(Answered{Number: number, Call: c, Recorded: recorded, Ends: s.over})
	}
	return reply, true
}

func (s *Server) ended() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.over
}

func refusal(text string) wire.Reply {
	return wire.Reply{Code: 1, Stderr: []byte("ERROR bad request: " + text + "\n")}
}

// readFile is the content of the file that --file names; nil where there is
// none that can be read.
func readFile(req wire.Request) []byte {
	i, at, ok := fileArg(req.Args)
	if !ok {
		return nil
	}
	path := req.Args[i][at:]
	if !filepath.IsAbs(path) {
		path = filepath.Join(req.Dir, path)
	}
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() || st.Size() > wire.MaxStdin {
		return nil
	}
	b, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	return append([]byte{}, b...)
}
