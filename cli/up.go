package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/agent"
	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/terminal"
)

// upVerbs run what a bundle asks for in the foreground.
type upVerbs struct {
	base
	charmVerbs
	statusVerbs
	waiting
}

// upFlags are the flags of up.
type upFlags struct {
	exit    bool
	logs    bool
	timeout time.Duration
	isolate deploy.Isolate
	ui      besideFlags
}

func (a upVerbs) upCmd() *cobra.Command {
	var f upFlags
	cmd := &cobra.Command{
		Use:   "up BUNDLE.yaml",
		Short: "Deploy a bundle, run the agent here, and show the hooks as they run",
		Long: `Deploy a bundle, run the agent in the foreground, show each hook as it runs, and
show the status once nothing is left to do. The agent then goes on until Ctrl-C,
unless --exit-when-settled is given. Run it again after a change of a charm or of
the bundle, and what has changed is brought up to date.

Where the rights allow it, as root on Linux, each unit that it adds gets a machine
of its own on this host (--isolate=off: none does); these stop with the agent. Who
isn't root has all of that but the network, where the kernel allows it; and one user
inside alone, unless there are subordinate ids (/etc/subuid).`,
		Example: `  unitd up shop.yaml
  unitd up shop.yaml --exit-when-settled --timeout 2m
  unitd up shop.yaml --logs
  unitd up shop.yaml --ui --ui-write
  unitd up shop.yaml --isolate=off`,
		Args: Args(1, 1, "no bundle specified"),
		RunE: func(_ *cobra.Command, args []string) error {
			defer a.endWithTerminal()()
			return a.up(args[0], f)
		},
	}
	cmd.Flags().BoolVar(&f.exit, "exit-when-settled", false, "end, and the agent with it, once nothing is left to do")
	declareIsolation(cmd, &f.isolate)
	cmd.Flags().BoolVar(&f.logs, "logs", false, "show what the hooks log too")
	f.ui.declare(cmd)
	cmd.Flags().DurationVar(&f.timeout, "timeout", 0, "give up when it isn't settled after this long (0: never)")
	return cmd
}

func (a upVerbs) up(path string, f upFlags) error {
	if err := f.ui.check(); err != nil {
		return err
	}
	p, err := a.bundles().Plan(path)
	if err != nil {
		return err
	}
	defer p.Drop()
	if err := f.isolate.Check(); err != nil { // before there is a model
		return err
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	if err := a.isolatePlan(m, p, f.isolate); err != nil {
		return err
	}
	if !p.Asked.Told() {
		if err := a.bundles().IsolateNew(m, p); err != nil {
			return err
		}
	}
	lock, err := a.LockHere()
	if errors.Is(err, errors.AlreadyExists) {
		a.Note("%v; it runs the hooks: \"unitd debug-log\" shows them", err)
		if err := a.bundles().Apply(m, p); err != nil {
			return err
		}
		a.limitCache()
		return a.upElsewhere(m, f)
	}
	if err != nil {
		return err
	}
	defer a.Release(lock)
	if err := a.bundles().Apply(m, p); err != nil {
		return err
	}
	a.limitCache()
	return a.upHere(m, p, f)
}

// upElsewhere is up with the agent in another process: a page that was asked for is served
// until Ctrl-C.
func (a upVerbs) upElsewhere(m *state.Model, f upFlags) error {
	dir, err := agent.DataDir()
	if err != nil {
		return err
	}
	page, err := a.beside(m, dir, f.ui)
	if err != nil {
		return err
	}
	err = a.untilSettled(m, f.timeout, nil)
	if page != nil && err == nil && !f.exit {
		a.Note("\nThe page goes on; Ctrl-C ends it.")
		<-a.Context().Done()
	}
	if eerr := page.end(); err == nil {
		err = eerr
	}
	return err
}

// upHere is up with the agent in this process.
func (a upVerbs) upHere(m *state.Model, p *bundle.Plan, f upFlags) error {
	joined, err := a.Join(agent.JoinOptions{})
	if err != nil {
		return err
	}
	measured, err := a.Measure(agent.Options{})
	if err != nil {
		return err
	}
	defer measured.End()
	c, err := a.Config()
	if err != nil {
		return err
	}
	joined.Configure(&c)
	if err := a.RememberStore(c.Dir); err != nil {
		return err
	}
	if err := a.MeetRestored(c); err != nil {
		return err
	}
	show := &hookLines{app: a.base, model: m.Name(), logs: f.logs, sources: a.sources(m), images: terminal.NewLine(a.Err)}
	show.fit(p)
	c.Observer = show.event
	page, err := a.beside(m, c.Dir, f.ui)
	if err != nil {
		return err
	}
	defer func() { _ = page.end() }()
	ctx, stop := context.WithCancel(a.Context())
	defer stop()
	if err := measured.Attach(&c, joined != nil); err != nil {
		return err
	}
	unmark, err := agent.MarkForeground(c.Dir)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() {
		err := agent.Run(ctx, c)
		// What was begun in the foreground leaves nothing in the background.
		if halted := c.Cells.Halt(); halted != nil {
			c.Log.Error("cannot stop the machines of isolated units", "err", halted)
		} else {
			unmark()
		}
		ended <- a.ToDo(err)
	}()
	err = a.untilSettled(m, f.timeout, ended)
	if f.exit || err != nil && a.Context().Err() == nil {
		stop()
		<-ended
		return err
	}
	if a.Context().Err() == nil {
		a.Note("\nThe agent goes on; Ctrl-C ends it.")
	}
	if err := <-ended; !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// untilSettled waits until nothing is left to do and shows the status then.
// ended tells when the agent has ended; nil: it is another process.
func (a upVerbs) untilSettled(m *state.Model, timeout time.Duration, ended chan error) error {
	ctx, cancel := context.WithCancel(a.Context())
	if timeout > 0 {
		ctx, cancel = context.WithTimeout(a.Context(), timeout)
	}
	defer cancel()
	err := a.settle(ctx, m, ended)
	if errors.Is(err, context.DeadlineExceeded) {
		err = a.timedOut(m, timeout)
	}
	if err != nil {
		return err
	}
	s, err := a.See(m)
	if err != nil {
		return err
	}
	a.printf("\n")
	if err := a.showStatus(m, s, nil, statusFlags{format: "tabular", relations: true}); err != nil {
		return err
	}
	return a.failIfInError(m)
}

// hookLines prints a line for each hook that has run.
type hookLines struct {
	app   base
	model string
	logs  bool
	// sources shows what units have said; nil: as it is.
	sources *machine.Sources
	// images shows how far the images of containers are; nil: it isn't shown.
	images *terminal.Line
	mu     sync.Mutex
	width  int // of unit names
}

// fit makes room for the names of the plan's units.
func (h *hookLines) fit(p *bundle.Plan) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, app := range p.Apps {
		h.width = max(h.width, len(model.NewUnitName(app.Application.Name, max(app.Wanted-1, 0))))
	}
}

func (h *hookLines) event(e machine.Event) {
	if e.Model != h.model {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case e.Kind == machine.ImageFetch:
		h.images.Show(render.Harmless(e.Image.Reference), e.Image.Text())
	case e.Kind == machine.HookRun:
		h.hook(e.Run)
	case e.Kind == machine.LogLine && h.logs && strings.HasPrefix(e.Log.Module, "unit."):
		h.line(e.Log.Time, e.Unit, h.paint(render.Grey, e.Log.Level+" "+render.Record(h.sources.Text(e.Unit.Tag(), e.Log.Message), "    ")))
	}
}

func (h *hookLines) hook(run history.Entry) {
	what := fmt.Sprintf("%-24s %-*s ", run.Name, h.width, run.Hook.RemoteUnit)
	switch {
	case run.Missing:
		what += h.paint(render.Grey, "not in the charm")
	case run.Outcome == history.Committed:
		what += fmt.Sprintf("%6s", run.Duration.Round(time.Millisecond))
	default:
		what += h.paint(render.Red, string(run.Outcome)+": "+render.Harmless(h.sources.Text(run.Unit.Tag(), run.Message)))
	}
	h.line(run.Started, run.Unit, what)
}

func (h *hookLines) paint(c render.Colour, text string) string {
	return h.app.paint(h.app.Out, c, text)
}

func (h *hookLines) line(at time.Time, unit model.UnitName, what string) {
	h.width = max(h.width, len(unit))
	clear := ""
	if terminal.Is(h.app.Out) && terminal.Is(h.app.Err) {
		clear = terminal.ClearLine // what progress shows is in that line
	}
	h.app.printf("%s%s  %-*s  %s\n", clear, at.Local().Format(time.TimeOnly), h.width, unit, strings.TrimRight(what, " "))
}
