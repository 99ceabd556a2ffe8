package sessions

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/juju/errors"
)

// Door is where an agent waits for a session that it was asked for.
type Door struct {
	// Addresses are HOST:PORT, the preferred one first, and Print is the agent's.
	Addresses []string `json:"addresses"`
	Print     Print    `json:"print"`
}

// ErrLost is that the connection of a session has ended before its program.
const ErrLost = errors.ConstError("the session was cut off")

// ErrRefused is the type of errors by which an agent says why it runs nothing.
const ErrRefused = errors.ConstError("the session is refused")

const (
	// dialTime is how long an address may take to answer.
	dialTime = 5 * time.Second
	// interrupted is how long a program may go on once the person has interrupted it.
	interrupted = 5 * time.Second
)

// Call is the person's end of one session.
type Call struct {
	Self *Identity
	Door Door
	Request
	In       io.Reader // nil: there is no input
	Out, Err io.Writer
}

// Run has the agent run the program until it ends, and returns its exit code. If In and Out are
// terminals and the request says so, keys and sizes are passed on as they are. As ctx
// ends, the program is interrupted. The errors are ErrLost, ErrRefused, and those of
// connecting.
func (c Call) Run(ctx context.Context) (exit int, err error) {
	conn, err := c.connect(ctx)
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	to := &frames{to: conn}
	back, err := c.takeTerminal(to)
	if err != nil {
		return 0, err
	}
	defer back()
	if err := to.writeJSON(request, c.Request); err != nil {
		return 0, errors.Annotate(err, "cannot begin the session")
	}
	over := make(chan struct{})
	defer close(over)
	room := make(chan struct{}, window)
	go c.interrupt(ctx, over, to, conn)
	go c.send(to, room, over)
	go to.sayHere(over)
	return c.receive(conn, room)
}

// connect connects with the first address that answers, which has to be the agent's.
func (c Call) connect(ctx context.Context) (*tls.Conn, error) {
	config := c.Self.config(func(p Print) error {
		if p != c.Door.Print {
			return errors.New("somebody else answers there")
		}
		return nil
	})
	var wrong []string
	for _, address := range c.Door.Addresses {
		dialer := tls.Dialer{NetDialer: &net.Dialer{Timeout: dialTime}, Config: config}
		within, stop := context.WithTimeout(ctx, dialTime)
		conn, err := dialer.DialContext(within, "tcp", address)
		stop()
		if err == nil {
			return conn.(*tls.Conn), nil
		}
		if ctx.Err() != nil {
			return nil, errors.Trace(ctx.Err())
		}
		wrong = append(wrong, fmt.Sprintf("%s: %v", address, rootOf(err)))
	}
	return nil, errors.Errorf("cannot reach it: %s", strings.Join(wrong, "; "))
}

// rootOf is what was wrong with a connection, without how and where.
func rootOf(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		return op.Err
	}
	return err
}

// send passes input on, as fast as the program takes it. It may go on reading after the
// session's end: nobody can stop a read of a terminal or a pipe.
func (c Call) send(to *frames, room chan<- struct{}, over <-chan struct{}) {
	b := make([]byte, mostBytes/2)
	for c.In != nil {
		n, err := c.In.Read(b)
		if n > 0 {
			select {
			case room <- struct{}{}:
			case <-over:
				return
			}
			if to.write(input, b[:n]) != nil {
				return
			}
		}
		if err != nil {
			break
		}
	}
	if c.Terminal == nil {
		_ = to.write(noInput, nil)
	}
}

// interrupt interrupts the program as ctx ends, and gives it up if it then goes on.
func (c Call) interrupt(ctx context.Context, over <-chan struct{}, to *frames, conn net.Conn) {
	select {
	case <-over:
		return
	case <-ctx.Done():
	}
	_ = conn.SetWriteDeadline(time.Now().Add(interrupted)) // somebody else may be writing
	give := time.AfterFunc(interrupted, func() { conn.Close() })
	defer give.Stop()
	_ = to.write(signals, []byte("INT"))
	<-over
}

// receive passes on what the program writes, until it has ended.
func (c Call) receive(conn net.Conn, room <-chan struct{}) (exit int, err error) {
	for {
		k, b, err := next(conn)
		if err != nil {
			return 0, errors.Trace(ErrLost)
		}
		switch k {
		case output:
			_, err = c.Out.Write(b)
		case trouble:
			_, err = c.Err.Write(b)
		case taken:
			select {
			case <-room:
			default: // of an end that can't count
			}
		case exitCode:
			err = json.Unmarshal(b, &exit)
			return exit, errors.Trace(err)
		case refused:
			return 0, errors.WithType(errors.New(string(b)), ErrRefused)
		}
		if err != nil {
			return 0, errors.Annotate(err, "cannot pass on what the session writes")
		}
	}
}
