// Package tap is a socket in front of that of a container's Pebble: all that comes
// is carried on, byte by byte and in both directions, and a Conversation reads along.
//
//	the charm ──▶ Tap.socket ══bytes══▶ Pebble's socket
//	                   │                  (as the user who has called)
//	                   └─▶ recording.Conversation
//
// It is there for the time of one hook, where that is to be recorded: mounted over
// the socket that the charm sees, and taken away afterwards. So outside of recorded
// hooks the charm talks with Pebble itself, whether there is an agent or not. A
// connection that outlives the hook, as one of a process in the background, is
// carried on to its end, and nobody reads along any more. When Pebble is started
// anew, it removes its socket, and with that the kernel takes away what is mounted on
// it: the charm finds the new Pebble, and the recording lacks the rest.
//
// Pebble goes by who has connected. So each connection is made with the user and group
// of the one that it is for. Source: docs/spec/containers.md §4.5.
package tap

import (
	"fmt"
	"net"
	"os"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/peer"
	"github.com/unitd/unitd/recording"
)

// Options say what a tap is for.
type Options struct {
	// Path is where its socket is made, in the place of one that was left; Pebble is
	// that of the container's.
	Path, Pebble string
	// Container is the container's name, and Recorder takes down what is said.
	Container string
	Recorder  *recording.Recorder
	// Others says of a process on the host that it is no part of what is recorded; nil:
	// none is.
	Others func(pid int) bool
}

// Tap is a socket in front of a Pebble's.
type Tap struct {
	options  Options
	listener *net.UnixListener
	accepted sync.WaitGroup // the loop that accepts

	mu            sync.Mutex
	over          bool // nothing is recorded any more
	conversations map[*recording.Conversation]bool
}

// Open makes the socket, which anybody may connect to.
func Open(o Options) (*Tap, error) {
	if err := os.Remove(o.Path); err != nil && !os.IsNotExist(err) {
		return nil, errors.Trace(err)
	}
	listener, err := peer.Listen(o.Path)
	if err != nil {
		return nil, errors.Trace(err)
	}
	listener.SetUnlinkOnClose(false)
	if err := os.Chmod(o.Path, 0o666); err != nil {
		listener.Close()
		return nil, errors.Trace(err)
	}
	t := &Tap{options: o, listener: listener, conversations: map[*recording.Conversation]bool{}}
	t.accepted.Go(t.accept)
	return t, nil
}

// Path is where its socket is.
func (t *Tap) Path() string { return t.options.Path }

// Close ends the recording, and returns when all is taken down. It is for when the
// charm doesn't see the socket any more: who has connected before is served to the
// end.
func (t *Tap) Close() error {
	t.end()
	// Who is in the queue comes before this one.
	last, err := peer.Dial(t.options.Path, &net.UnixAddr{Name: t.last(), Net: "unix"})
	if err == nil {
		t.accepted.Wait()
		last.Close()
	}
	cerr := t.listener.Close()
	t.accepted.Wait()
	if err := os.Remove(t.options.Path); cerr == nil && !os.IsNotExist(err) {
		cerr = err
	}
	return errors.Trace(cerr)
}

// last is the name by which the last connection is known, that of Close.
func (t *Tap) last() string { return fmt.Sprintf("@unitd-tap-%d-%p", os.Getpid(), t) }

// end ends what is read along.
func (t *Tap) end() {
	t.mu.Lock()
	t.over = true
	all := t.conversations
	t.conversations = nil
	t.mu.Unlock()
	for c := range all {
		c.End()
	}
}

func (t *Tap) accept() {
	for {
		charm, err := t.listener.AcceptUnix()
		if err != nil {
			return
		}
		if charm.RemoteAddr().String() == t.last() {
			charm.Close()
			return
		}
		go t.serve(charm)
	}
}

// serve carries one connection. Where Pebble can't be reached, the charm is hung up on.
func (t *Tap) serve(charm *net.UnixConn) {
	defer charm.Close()
	who, err := peer.Of(charm)
	if err != nil {
		return
	}
	pebble, err := peer.DialAs(t.options.Pebble, who)
	if err != nil {
		return
	}
	defer pebble.Close()
	c := t.converse(who)
	defer t.leave(c)
	asked, answered := func([]byte) {}, func([]byte) {}
	askedAll, answeredAll := func() {}, func() {}
	if c != nil {
		asked, answered, askedAll, answeredAll = c.Asked, c.Answered, c.AskedAll, c.AnsweredAll
	}
	var both sync.WaitGroup
	both.Go(func() { carry(charm, pebble, asked); askedAll() })
	carry(pebble, charm, answered)
	answeredAll()
	both.Wait()
}

// converse is nil for a connection that isn't recorded.
func (t *Tap) converse(who peer.Who) *recording.Conversation {
	if t.options.Others != nil && t.options.Others(who.PID) {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil
	}
	c := t.options.Recorder.Converse(t.options.Container)
	t.conversations[c] = true
	return c
}

func (t *Tap) leave(c *recording.Conversation) {
	if c == nil {
		return
	}
	c.End()
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.conversations, c)
}

// buffers are for what is carried.
var buffers = sync.Pool{New: func() any { b := make([]byte, 64<<10); return &b }}

// carry tells of what one side says and carries it to the other, until that side is
// silent: which the other is told too. It is told first: a hook may end as soon as it
// has its last answer, and with it the recording. Where the other one has gone, the
// one is hung up on, as it would have been.
func carry(from, to *net.UnixConn, tell func([]byte)) {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	for {
		n, err := from.Read(*buffer)
		if n > 0 {
			tell((*buffer)[:n])
			if _, err := to.Write((*buffer)[:n]); err != nil {
				from.Close()
				return
			}
		}
		if err != nil {
			_ = to.CloseWrite()
			return
		}
	}
}
