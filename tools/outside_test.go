package tools

import (
	"context"
	"testing"

	"github.com/unitd/unitd/tools/wire"
)

// TestACallerThatHangsUp ends its request's context; one that waits has its reply,
// whatever it sends after the request.
func TestACallerThatHangsUp(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	asked, causes, answer := make(chan bool), make(chan error, 1), make(chan bool)
	s.ServeOutside(func(ctx context.Context, _ wire.Request) wire.Reply {
		asked <- true
		select {
		case <-ctx.Done():
			causes <- context.Cause(ctx)
		case <-answer:
			causes <- context.Cause(ctx)
		}
		return wire.Reply{Code: 7}
	})
	request := wire.AppendRequest(nil, wire.Request{Dir: "/", Args: []string{"juju-exec"}})

	gone := dial(t, s)
	if _, err := gone.Write(request); err != nil {
		t.Fatal(err)
	}
	<-asked
	gone.Close()
	if err := <-causes; err != ErrHungUp {
		t.Errorf("the context of a caller that has hung up ended by %v", err)
	}

	there := dial(t, s)
	defer there.Close()
	if _, err := there.Write(append(request, "more"...)); err != nil {
		t.Fatal(err)
	}
	<-asked
	answer <- true
	reply, err := wire.ReadReply(there)
	if err != nil || reply.Code != 7 {
		t.Errorf("a caller that waits has the reply %v, %v", reply, err)
	}
	if err := <-causes; err != nil {
		t.Errorf("the context of a caller that waits ended by %v", err)
	}
}
