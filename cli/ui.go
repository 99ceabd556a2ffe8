package cli

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/page"
	"github.com/unitd/unitd/page/live"
	"github.com/unitd/unitd/service"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/why"
)

// uiFlags are those of whatever serves the page of a model.
type uiFlags struct {
	port        int
	write, open bool
}

// declare declares the flags: of the verb ui by their own names, of others by names that
// begin with "ui".
func (f *uiFlags) declare(cmd *cobra.Command, prefix string) {
	cmd.Flags().IntVar(&f.port, prefix+"port", 0, "the port to serve the page on (0: any free port)")
	cmd.Flags().BoolVar(&f.write, prefix+"write", false, "let the page change the model: resolve, run actions, set options, add units")
	cmd.Flags().BoolVar(&f.open, prefix+"open", false, "open the page in this desktop's browser")
}

// check says what is wrong with the flags.
func (f uiFlags) check() error {
	if f.port < 0 || f.port > 65535 {
		return Usagef("invalid value %d for --port: a port is a number up to 65535", f.port)
	}
	return nil
}

// besideFlags are those of a verb that can serve the page beside what it does.
type besideFlags struct {
	uiFlags
	on bool
}

func (f *besideFlags) declare(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.on, "ui", false, "serve a page that shows the model as it changes, and print its address")
	f.uiFlags.declare(cmd, "ui-")
}

// beside serves the page if it was asked for. The caller ends it; nil can be ended too.
func (a statusVerbs) beside(m *state.Model, dir string, f besideFlags) (*ui, error) {
	if !f.on && !f.write && !f.open && f.port == 0 {
		return nil, nil
	}
	return a.serveUI(m, dir, f.uiFlags, nil)
}

func (a statusVerbs) uiCmd() *cobra.Command {
	var f uiFlags
	var file string
	cmd := &cobra.Command{
		Use:   "ui",
		Short: "Show the model in a browser, as it is and as it changes",
		Long: `Serve a page that shows the model as it changes: applications, units and relations,
when hooks ran and which followed from which, what they called and logged, databags,
configuration, secrets without their content, and what holds each unit up. Press
Ctrl-C to end it.

The page is served on loopback, to whoever has the address with its token. Without
--write, it changes nothing. It shows units of all hosts, and needs no network.
--file writes the page as it is now to a file. That file has all of the model,
including passwords in databags.

A service manager may pass a socket that listens, as unitd-ui.socket does. The token is
then not printed, where a journal would have it: it is in the credential ui-token of the
service, or else in the file ui.token of the data directory, and stays the same.`,
		Example: `  unitd ui
  unitd ui --port 8080 --write
  unitd ui --open
  unitd ui --file model.html`,
		Args: Args(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			m, err := a.model()
			if err != nil {
				return err
			}
			dir, err := agent.DataDir()
			if err != nil {
				return err
			}
			if file != "" {
				return a.writePage(m, dir, file)
			}
			given, err := service.Listener()
			if err != nil {
				return err
			}
			u, err := a.serveUI(m, dir, f, given)
			if err != nil {
				return err
			}
			select {
			case <-a.Context().Done():
			case <-u.ended:
			}
			return u.end()
		},
	}
	f.declare(cmd, "")
	cmd.Flags().StringVar(&file, "file", "", "write the page as it is now to this file, which needs no server, then end")
	return cmd
}

// view is the page of a model whose agent works in dir, with what other hosts have of it. A
// model that has an agent of its own has none of those of the data directory.
func (a base) view(m *state.Model, dir string) *live.View {
	v := live.NewView(m, dir)
	if data, err := agent.DataDir(); err != nil || data != dir {
		return v
	}
	v.Others = func(ctx context.Context) ([]live.Other, error) {
		others, err := a.Until(ctx).Others(m)
		all := make([]live.Other, len(others))
		for i, o := range others {
			all[i] = live.Other{Machine: o.Machine, Present: o.Present}
		}
		return all, err
	}
	return v
}

// writePage writes the page of a model as it is now to a file.
func (a statusVerbs) writePage(m *state.Model, dir, file string) error {
	w, err := a.view(m, dir).Capture(a.Context(), func(u model.UnitName) why.Answer { return a.whyIn(a.Context(), m, dir, u) })
	if err != nil {
		return err
	}
	b, err := page.Static("unitd: "+m.Name(), []page.World{w})
	if err != nil {
		return err
	}
	return errors.Annotate(durable.Disk{}.ReplaceFile(file, b, 0o600), "cannot write the page")
}

// ui is a page that is served.
type ui struct {
	server *http.Server
	stop   context.CancelFunc
	over   sync.WaitGroup
	ended  chan struct{} // is closed when the view has ended
	failed error         // why it has ended before it was to
	opened string        // the file by which a browser was told the address
}

// serveUI serves the page of a model whose agent works in dir, and says where: on a listener
// that was given, or else on one of its own. The caller ends it.
func (a statusVerbs) serveUI(m *state.Model, dir string, f uiFlags, given net.Listener) (*ui, error) {
	door, err := openDoor(dir, f, given)
	if err != nil {
		return nil, err
	}
	listener := door.listener
	ctx, stop := context.WithCancel(a.Context())
	s := &live.Server{Token: door.token, View: a.view(m, dir)}
	var one sync.Mutex // what a command has isn't made for several at once
	s.Detail = func(ctx context.Context, unit model.UnitName) (page.Detail, error) {
		one.Lock()
		defer one.Unlock()
		return s.View.Detail(ctx, unit, a.whyIn(ctx, m, dir, unit))
	}
	if f.write {
		in, err := a.placeOf(dir, m)
		if err != nil {
			stop()
			_ = listener.Close()
			return nil, err
		}
		s.Do = func(_ context.Context, line []string) (string, error) { return carryOut(ctx, in, line) }
	}
	u := &ui{stop: stop, ended: make(chan struct{}), server: &http.Server{Handler: s.Handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, BaseContext: func(net.Listener) context.Context { return ctx }}}
	u.over.Go(func() { _ = u.server.Serve(listener) })
	u.over.Go(func() {
		defer close(u.ended)
		if err := s.View.Run(ctx); err != nil && ctx.Err() == nil {
			u.failed = err
			a.Note("WARNING the page shows nothing new any more: %v", err)
		}
	})
	address := "http://" + listener.Addr().String() + "/#token=" + s.Token
	a.printf("The page of model %s: %s\n", m.Name(), door.said(address))
	if f.open {
		if err := u.openPage(address); err != nil {
			a.Note("cannot open a browser: %v", err)
		}
	}
	return u, nil
}

// end ends the page.
func (u *ui) end() error {
	if u == nil {
		return nil
	}
	u.stop()
	err := u.server.Close()
	u.over.Wait()
	if u.opened != "" {
		_ = os.Remove(u.opened)
	}
	if u.failed != nil {
		return u.failed
	}
	return errors.Trace(err)
}

// whyIn says what holds a unit up whose agent works in dir; nothing, where that can't be told.
func (a statusVerbs) whyIn(ctx context.Context, m *state.Model, dir string, unit model.UnitName) why.Answer {
	own, err := agent.DataDir()
	if err != nil {
		return why.Answer{}
	}
	here := dir != own || a.Here(m, unit) == nil // a private model is all here
	var word *machine.Word
	if w, err := machine.Ask(ctx, dir); err == nil {
		word = &w
	}
	answer, err := a.whyWhere(ctx, m, dir, unit, word, here)
	if err != nil {
		return why.Answer{}
	}
	answer.Sentence = a.sourcesIn(m, dir).Text(unit.Tag(), answer.Sentence)
	return answer
}

// place is where the model of a page is: what a command has to be told to work on it.
type place struct{ dir, controller, store, model string }

// placeOf is that of a model whose agent works in dir: this command's own, or that of the
// private model of "watch".
func (a statusVerbs) placeOf(dir string, m *state.Model) (place, error) {
	own, err := agent.DataDir()
	if err != nil {
		return place{}, err
	}
	if dir != own {
		return place{dir, agent.OwnController, agent.LocalStore, m.Name()}, nil
	}
	here, err := agent.Controller()
	if err != nil {
		return place{}, err
	}
	store, err := a.StoreName()
	return place{dir, here.Name, store, m.Name()}, err
}

// carryOut runs a command line of a page by this very program, on the page's model, whatever
// the environment or a person's choice says of others. The error is what the command has said
// of what is wrong. It is told to end when ctx ends, and has time to.
func carryOut(ctx context.Context, in place, line []string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", errors.Trace(err)
	}
	args := append([]string{line[0], "--controller", in.controller, "--store", in.store, "--model", in.model}, line[1:]...)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Cancel, cmd.WaitDelay = func() error { return cmd.Process.Signal(os.Interrupt) }, 10*time.Second
	cmd.Env = append(slices.DeleteFunc(os.Environ(), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return slices.Contains([]string{"UNITD_STORE", "UNITD_MODEL", "JUJU_MODEL", "UNITD_CONTROLLER", "JUJU_CONTROLLER"}, name)
	}), "UNITD_DATA="+in.dir)
	var printed, noted bytes.Buffer
	cmd.Stdout, cmd.Stderr = &printed, &noted
	if err := cmd.Run(); err != nil {
		return "", errors.New(strings.TrimSpace(strings.TrimPrefix(noted.String(), "ERROR ") + "\n" + printed.String()))
	}
	return noted.String() + printed.String(), nil
}

// openPage shows an address in the browser of this desktop, if there is one. The browser is
// told it by a file that nobody else can read, as all can read the words that a program is
// started with.
func (u *ui) openPage(address string) error {
	home, err := os.UserHomeDir() // browsers in a sandbox see it, and not what is temporary
	if err != nil {
		return errors.Trace(err)
	}
	f, err := os.CreateTemp(home, "unitd-page-*.html") // 0600
	if err != nil {
		return errors.Trace(err)
	}
	u.opened = f.Name()
	_, err = fmt.Fprintf(f, `<!doctype html><meta charset="utf-8"><title>unitd</title><meta http-equiv="refresh" content="0; url=%s">`, address)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return errors.Trace(err)
	}
	program := "xdg-open"
	if runtime.GOOS == "darwin" {
		program = "open"
	}
	cmd := exec.Command(program, u.opened)
	if err := cmd.Start(); err != nil {
		return errors.Trace(err)
	}
	go func() { _ = cmd.Wait() }()
	return nil
}
