package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/tools"
)

// debugSocket is the agent's private socket, in the data directory.
const debugSocket = "debug-agent.socket"

// profiles are what debug-agent can ask for; those with true take time.
var profiles = map[string]bool{
	"allocs": false, "block": false, "goroutine": false, "heap": false, "mutex": false, "threadcreate": false,
	"profile": true, "trace": true,
}

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

func (a *app) debugAgentCmd() *cobra.Command {
	var output string
	var seconds int
	cmd := &cobra.Command{
		Use:   "debug-agent [PROFILE]",
		Short: "Show what the agent is doing inside, if it runs with --debug",
		Long: `Show where all goroutines of the agent are, as text; or write a profile of it, for
"go tool pprof" (for trace, "go tool trace"). The profiles are ` + strings.Join(profileNames(), ", ") + `.
The agent must have been started as "unitd agent --debug": it then has a socket in
the data directory that only its user can connect to.`,
		Example: `  unitd debug-agent
  unitd debug-agent heap -o heap.pprof
  unitd debug-agent profile --seconds 30 -o cpu.pprof && go tool pprof cpu.pprof`,
		Args:      args(0, 1, ""),
		ValidArgs: profileNames(),
		RunE: func(_ *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = args[0]
			}
			timed, known := profiles[name]
			switch {
			case name != "" && !known:
				return usagef("there is no profile %q: there are %s", name, strings.Join(profileNames(), ", "))
			case seconds != 0 && !timed:
				return usagef("--seconds is for profile and trace")
			case seconds < 0:
				return usagef("--seconds must be a positive number, got %d", seconds)
			case name != "" && output == "" && isTerminal(a.stdout):
				return usagef("a profile isn't text: name a file for it with -o")
			}
			query := url.Values{}
			if name == "" {
				name = "goroutine"
				query.Set("debug", "2")
			}
			if seconds > 0 {
				query.Set("seconds", strconv.Itoa(seconds))
			}
			return a.debugAgent(name+"?"+query.Encode(), output)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "the file to write (standard output)")
	cmd.Flags().IntVar(&seconds, "seconds", 0, "how long profile (30) and trace (1) look")
	return cmd
}

func profileNames() []string {
	var out []string
	for name := range profiles {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

// debugAgent asks the agent for a page of pprof and writes it.
func (a *app) debugAgent(page, output string) error {
	pid, err := runningAgent()
	if err != nil {
		return err
	}
	if pid == 0 {
		return errors.NewNotFound(nil, "no agent is running in this data directory")
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	path := tools.PrivateAddress(filepath.Join(dir, debugSocket))
	client := http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", path)
	}}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(a.ctx, http.MethodGet, "http://agent/debug/pprof/"+page, nil)
	if err != nil {
		return errors.Trace(err)
	}
	reply, err := client.Do(req)
	var refused *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Op == "dial":
		return errors.NewNotFound(nil, fmt.Sprintf("the agent (process %d) wasn't started with --debug: end it by \"unitd shutdown\", and start it as \"unitd agent --debug\"", pid))
	case err != nil:
		return errors.Annotate(err, "cannot ask the agent")
	}
	defer reply.Body.Close()
	if reply.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(reply.Body, 1000))
		return errors.Errorf("the agent refuses: %s", strings.TrimSpace(string(why)))
	}
	if output == "" {
		_, err = io.Copy(a.stdout, reply.Body)
		return errors.Annotate(err, "cannot read what the agent says")
	}
	f, err := os.OpenFile(output, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return errors.Annotate(err, "cannot write the profile")
	}
	_, err = io.Copy(f, reply.Body)
	if closed := f.Close(); err == nil {
		err = closed
	}
	return errors.Annotate(err, "cannot write the profile")
}
