package machine

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/debuglog"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/kube"
)

const (
	// loopback and apiPort are where a unit finds its Kubernetes API, in a network of
	// its own: a port that workloads don't have, and the kernel gives to nobody.
	loopback = "127.0.0.1"
	apiPort  = 61443

	// kubernetesDir is what a container unit has of the Kubernetes API, in its own
	// directory: the files of its service account, and the port where that isn't
	// apiPort.
	kubernetesDir = "kubernetes"
	portFile      = "port"
)

// account is the service account of a container unit, with the server of the
// Kubernetes API that takes it, which is there as long as the application is trusted.
// But for environ it is for the goroutine of the unit's agent.
type account struct {
	attached, cleared bool
	stop              func() // nil: nothing is served
	fault             string // why not, as it was logged
	vars              atomic.Pointer[[]string]
}

// environ are the variables by which the unit's programs find the API; none while
// it isn't there.
func (a *account) environ() []string {
	if vars := a.vars.Load(); vars != nil {
		return *vars
	}
	return nil
}

// close ends the server.
func (a *account) close() {
	if a.stop != nil {
		a.stop()
		a.stop = nil
	}
	a.vars.Store(nil)
}

// accountDir has the files of the unit's service account.
func (u *unit) accountDir() string { return filepath.Join(u.dir, kubernetesDir, "account") }

// seeAccount has the unit's service account in its cell, and the Kubernetes API
// served where it is trusted. Source: docs/spec/containers.md §5.5.
func (u *unit) seeAccount(ctx context.Context, trusted bool) error {
	c := u.cell.Load()
	if u.inPod == nil || c == nil {
		return nil
	}
	a := &u.inPod.account
	if !a.attached {
		if err := u.keepAccount(map[string][]byte{"namespace": []byte(u.model.Name())}); err != nil {
			return errors.Trace(err)
		}
		if err := c.AttachBind("serviceaccount", isolate.Bind{From: u.accountDir(), To: kube.AccountDir, ReadOnly: true, Theirs: true}); err != nil {
			return errors.Trace(err)
		}
		a.attached = true
	}
	switch {
	case trusted && a.stop == nil:
		a.cleared = false
		err := u.serveAPI(ctx, c)
		if err == nil {
			a.fault = ""
			return nil
		}
		// Hooks that don't ask for it needn't wait for it.
		if a.fault != err.Error() {
			u.log.Error("cannot serve the Kubernetes API", "unit", u.name, "err", err)
		}
		a.fault = err.Error()
	case !trusted && !a.cleared:
		a.close()
		for _, name := range []string{"token", "ca.crt"} {
			if err := u.disk.RemoveAll(filepath.Join(u.accountDir(), name)); err != nil {
				return errors.Trace(err)
			}
		}
		a.cleared = true
	}
	return nil
}

// keepAccount has those files of the account as they are to be. Whoever runs in the
// unit may read them: nobody else comes to where they are.
func (u *unit) keepAccount(files map[string][]byte) error {
	if err := u.disk.MkdirAll(u.accountDir(), 0o755); err != nil {
		return errors.Trace(err)
	}
	if err := u.letAllRead(u.accountDir()); err != nil {
		return errors.Trace(err)
	}
	for name, data := range files {
		path := filepath.Join(u.accountDir(), name)
		b, err := os.ReadFile(path)
		if err != nil || string(b) != string(data) {
			err = u.disk.ReplaceFile(path, data, 0o644)
		}
		if err == nil {
			err = u.letAllRead(path)
		}
		if err != nil {
			return errors.Annotate(err, "cannot keep the unit's service account")
		}
	}
	return nil
}

// token is what the account has shown before; another one if there is none.
func (u *unit) token() (string, error) {
	b, err := os.ReadFile(filepath.Join(u.accountDir(), "token"))
	if err == nil && len(b) > 0 {
		return string(b), nil
	}
	token, err := kube.NewToken(rand.Reader)
	return token, errors.Trace(err)
}

// serveAPI serves the Kubernetes API in the network of the unit's cell.
func (u *unit) serveAPI(ctx context.Context, c *cell) error {
	token, err := u.token()
	if err != nil {
		return errors.Trace(err)
	}
	authority, err := u.cluster.authority()
	if err != nil {
		return errors.Trace(err)
	}
	cert, err := authority.Serve(time.Now(), loopback, "localhost") // clients go by the host's clock
	if err != nil {
		return errors.Trace(err)
	}
	if err := u.keepAccount(kube.AccountFiles(token, authority.Cert, u.model.Name())); err != nil {
		return errors.Trace(err)
	}
	server, err := kube.New(kube.Config{
		Application: u.name.Application(), Unit: string(u.name), Token: token, Cluster: u.cluster.api,
		Log: func(line string) {
			u.logLine(debuglog.Entry{Level: "WARNING", Module: "unit." + string(u.name) + ".kubernetes", Message: line})
		},
	})
	if err != nil {
		return errors.Trace(err)
	}
	listener, err := u.listenAPI(c)
	if err != nil {
		return errors.Trace(err)
	}
	port := listener.Addr().(*net.TCPAddr).Port
	u.inPod.account.stop = serve(ctx, listener, cert, server)
	vars := kube.Environ(loopback, port)
	u.inPod.account.vars.Store(&vars)
	return nil
}

// serve answers by the handler until the end is called, which waits for all answers
// to have ended.
func serve(ctx context.Context, l net.Listener, cert tls.Certificate, h http.Handler) (end func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	s := &http.Server{
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute,
		ErrorLog:          log.New(io.Discard, "", 0), // of what clients do wrong
		BaseContext:       func(net.Listener) context.Context { return ctx },
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			running.Add(1)
			defer running.Done()
			h.ServeHTTP(w, r)
		}),
	}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.ServeTLS(l, "", "") }) // until Close
	return func() {
		cancel()
		_ = s.Close()
		serving.Wait()
		running.Wait()
	}
}

// listenAPI takes connections where the unit's programs look for the API. In a cell
// that has the host's network the port is one that was free, and stays if it can.
func (u *unit) listenAPI(c *cell) (net.Listener, error) {
	if c.Network().Address != "" {
		l, err := c.Listen(loopback, apiPort)
		return l, errors.Annotatef(err, "cannot listen on port %d of the unit", apiPort)
	}
	path := filepath.Join(u.dir, kubernetesDir, portFile)
	b, _ := os.ReadFile(path) // without it, another one
	port, _ := strconv.Atoi(strings.TrimSpace(string(b)))
	l, err := c.Listen(loopback, port)
	if err != nil && port != 0 {
		l, err = c.Listen(loopback, 0)
	}
	if err != nil {
		return nil, errors.Trace(err)
	}
	if now := l.Addr().(*net.TCPAddr).Port; now != port {
		if err := u.disk.ReplaceFile(path, []byte(strconv.Itoa(now)+"\n"), 0o600); err != nil {
			l.Close()
			return nil, errors.Trace(err)
		}
	}
	return l, nil
}
