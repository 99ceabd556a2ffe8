package agent

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/tools"
)

// debugSocket is the agent's private socket, in the data directory.
const debugSocket = "debug-agent.socket"

// serveDebug lets this process's owner look into it, until end is called: the
// pages of net/http/pprof, over a socket in the data directory that nobody else
// can connect to.
func serveDebug(dir string) (end func(), err error) {
	listener, err := tools.ListenPrivate(filepath.Join(dir, debugSocket))
	if err != nil {
		return nil, errors.Annotate(err, "cannot listen for unitd debug-agent")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = server.Serve(listener) // until it is closed
	}()
	return func() {
		server.Close()
		listener.Close()
		<-served
	}, nil
}

// AskDebug asks the agent of the data directory for a page of net/http/pprof. The
// error is NotFound where there is none, or where it wasn't started for that.
func (h *Host) AskDebug(page string) (io.ReadCloser, error) {
	pid, err := Running()
	if err != nil {
		return nil, err
	}
	if pid == 0 {
		return nil, errors.NewNotFound(nil, "no agent is running in this data directory")
	}
	dir, err := DataDir()
	if err != nil {
		return nil, err
	}
	path := tools.PrivateAddress(filepath.Join(dir, debugSocket))
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	req, err := http.NewRequestWithContext(h.ctx, http.MethodGet, "http://agent/debug/pprof/"+page, nil)
	if err != nil {
		return nil, errors.Trace(err)
	}
	reply, err := client.Do(req)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "dial":
		return nil, errors.NewNotFound(nil, fmt.Sprintf("the agent (process %d) wasn't started with --debug: end it by \"unitd shutdown\", and start it as \"unitd agent --debug\"", pid))
	case err != nil:
		return nil, errors.Annotate(err, "cannot ask the agent")
	}
	if reply.StatusCode != http.StatusOK {
		defer reply.Body.Close()
		why, _ := io.ReadAll(io.LimitReader(reply.Body, 1000))
		return nil, errors.Errorf("the agent refuses: %s", strings.TrimSpace(string(why)))
	}
	return reply.Body, nil
}
