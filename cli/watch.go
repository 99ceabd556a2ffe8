package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/bundle"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/deploy"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/terminal"
)

// watchVerbs run a charm in a private model, and follow its saves.
type watchVerbs struct{ upVerbs }

// watchFlags are the flags of watch.
type watchFlags struct {
	bundle  string
	once    bool
	isolate deploy.Isolate
	ui      besideFlags
}

func (a watchVerbs) watchCmd() *cobra.Command {
	var f watchFlags
	cmd := &cobra.Command{
		Use:   "watch CHARM",
		Short: "Deploy a charm in a private model, and again at each save",
		Long: `Deploy a charm, or a bundle with it, in a private model that is gone afterwards;
show the hooks as they run, and then what they changed: databags, ports, statuses,
the charm's state. At each save below the charm's directory the charm is refreshed
in the model as it is, and the screen shows what comes of that. A hook that failed
is run again with what was saved. Ctrl-C ends it.

Units are isolated as by "unitd up": as root on Linux each gets a machine of its own
on this host (--isolate=off: none does).

Version control, caches, and what editors leave aren't looked at. Failed hooks are
not retried by themselves.`,
		Example: `  unitd watch ./ledger
  unitd watch ./ledger --bundle shop.yaml
  unitd watch ./ledger --once`,
		Args: Args(1, 1, "no charm specified"),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
		RunE: func(_ *cobra.Command, args []string) error {
			defer a.endWithTerminal()()
			return a.watch(args[0], f)
		},
	}
	cmd.Flags().StringVar(&f.bundle, "bundle", "", "deploy this bundle; its applications of the charm are watched")
	cmd.Flags().BoolVar(&f.once, "once", false, "end once nothing is left to do; fail if a unit is in error then")
	declareIsolation(cmd, &f.isolate)
	f.ui.declare(cmd)
	_ = cmd.MarkFlagFilename("bundle", "yaml", "yml")
	return cmd
}

// saveQuiet is how long nothing must have been saved before a charm is read.
const saveQuiet = 200 * time.Millisecond

func (a watchVerbs) watch(path string, f watchFlags) error {
	if err := f.ui.check(); err != nil {
		return err
	}
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, ".") {
		path = "./" + path
	}
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return Usagef("%s is not the directory of an unpacked charm", path)
	}
	// Before it is read for the first time, so that no save is missed.
	ctx, stop := context.WithCancel(a.Context())
	defer stop()
	var saved <-chan struct{}
	if !f.once {
		var err error
		if saved, err = charmdir.Watch(ctx, path, saveQuiet); err != nil {
			return err
		}
	}
	p, apps, err := a.planWatch(path, f.bundle)
	if err != nil {
		return err
	}
	defer p.Drop()
	if p.Isolation, err = f.isolate.Isolation(); err != nil {
		return err
	}
	w, err := a.startWatching(path, apps, saved)
	if err != nil {
		return err
	}
	defer w.end()
	page, err := a.beside(w.model, w.dir, f.ui)
	if err != nil {
		return err
	}
	defer func() { _ = page.end() }()
	p.Asked, p.Dir = f.isolate, w.dir
	if f.isolate.Told() {
		err = a.CheckIsolationIn(w.dir, w.dir, p.Isolation, deploy.Without(false))
	} else {
		err = a.bundles().Isolate(p, w.dir)
	}
	if err != nil {
		return err
	}
	err = w.run(p, f.once)
	if a.Context().Err() != nil && !f.once {
		if terminal.Is(a.Out) {
			a.printf("\n") // the terminal shows ^C
		}
		return nil // that is how it ends
	}
	return err
}

// planWatch is what is deployed at first, and which applications of it have the
// watched charm.
func (a watchVerbs) planWatch(path, bundlePath string) (*bundle.Plan, []string, error) {
	if bundlePath != "" {
		return a.planWatchBundle(path, bundlePath)
	}
	charm, err := deploy.ReadCharm(path)
	if err != nil {
		return nil, nil, err
	}
	if charm.Subordinate {
		return nil, nil, Usagef("%q is a subordinate, which has no units without a principal: name a bundle that relates it to one with --bundle", charm.Name)
	}
	app, err := a.bundles().PlanApp(bundle.Application{Name: charm.Name, Charm: bundle.CharmRef{Path: path}, Units: -1})
	if err != nil {
		return nil, nil, err
	}
	return &bundle.Plan{Bundle: &bundle.Bundle{}, Apps: []bundle.PlannedApp{app}}, []string{charm.Name}, nil
}

func (a watchVerbs) planWatchBundle(path, bundlePath string) (*bundle.Plan, []string, error) {
	p, err := a.bundles().Plan(bundlePath)
	if err != nil {
		return nil, nil, err
	}
	var apps, charms []string
	for _, app := range p.Apps {
		if sameFile(app.Packed.Path, path) {
			apps = append(apps, app.Application.Name)
		}
		charms = append(charms, app.Packed.Path)
	}
	if len(apps) > 0 {
		return p, apps, nil
	}
	p.Drop()
	return nil, nil, errors.NewNotFound(nil, fmt.Sprintf("no application of %s has the charm %s; its charms are %s", bundlePath, path, strings.Join(charms, ", ")))
}

// sameFile says whether two paths lead to the same file.
func sameFile(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// run plays rounds, one for the deployment and one for each save.
func (w *watching) run(p *bundle.Plan, once bool) error {
	w.view.hooks.fit(p)
	w.view.begin("deploying " + strings.Join(w.apps, ", "))
	err := w.app.bundles().Apply(w.model, p)
	if err == nil {
		err = w.finish(nil)
	}
	if err != nil {
		return err
	}
	if once {
		return w.failed()
	}
	for {
		if err := w.await(); err != nil {
			return err
		}
		if err := w.round(); err != nil {
			return err
		}
	}
}

// await waits until something is saved; the error says what ended that.
func (w *watching) await() error {
	if w.again {
		w.again = false
		return nil
	}
	w.view.wait()
	select {
	case <-w.saved:
		return errors.Trace(w.app.Context().Err())
	case err := <-w.ended:
		w.ended <- err // for end
		return err
	case <-w.app.Context().Done():
		return errors.Trace(w.app.Context().Err())
	}
}

// round brings what was saved into the model. Only what ends the watching is its
// error: a charm that can't be read waits for the next save.
func (w *watching) round() error {
	waiting, err := w.inError()
	if err != nil {
		return err
	}
	title, err := w.refresh()
	if w.app.Context().Err() != nil {
		return errors.Trace(w.app.Context().Err())
	}
	if err == nil && title == "" && len(waiting) == 0 {
		return nil // what was saved is nothing that the charm has
	}
	w.view.begin(cmp.Or(title, "running again what failed"))
	if err != nil {
		w.app.printf("%s %s\n", w.app.paint(w.app.Out, render.BrightRed, "ERROR"), render.Harmless(err.Error()))
		return nil
	}
	return w.finish(waiting)
}

// refresh gives the applications the charm as it is now. The result says what
// was done; it is empty where the charm is the one that they have.
func (w *watching) refresh() (string, error) {
	charm, err := deploy.ReadCharm(w.path)
	if err != nil {
		return "", err
	}
	app, err := w.model.Application(w.app.Context(), w.apps[0])
	if err != nil {
		return "", err
	}
	p, err := w.app.Pack(charm, app.Isolation)
	if err != nil {
		return "", err
	}
	defer p.Drop()
	url, title := "", ""
	for _, name := range w.apps {
		old, err := w.app.refreshable(w.model, name, charm.Charm, false)
		if err != nil {
			return "", err
		}
		if old.SHA256 == p.Sum {
			continue
		}
		if url == "" {
			if url, err = p.Store(w.app.Context(), w.model); err != nil {
				return "", err
			}
		}
		// By force, as units in error get it too.
		if err := w.model.SetCharm(w.app.Context(), name, url, true); err != nil {
			return "", err
		}
		title = fmt.Sprintf("refreshing %s to revision %s", strings.Join(w.apps, ", "), deploy.Revision(url))
	}
	return title, nil
}

// finish lets the round come to its end and shows what it changed. The units
// that were in error before have their hooks run again, once they have the new
// charm: resolved before, it would be the old one's hook.
func (w *watching) finish(waiting []failedUnit) error {
	if err := w.settle(); err != nil || w.again {
		return err
	}
	for _, unit := range waiting {
		err := w.model.Resolve(w.app.Context(), unit.name, true)
		// It may have been removed, or resolved by somebody else.
		if err != nil && !errors.Is(err, errors.NotFound) && !errors.Is(err, errors.NotValid) && !errors.Is(err, errors.AlreadyExists) {
			return err
		}
	}
	if len(waiting) > 0 {
		if err := w.settle(); err != nil || w.again {
			return err
		}
	}
	now, err := w.model.Picture(w.app.Context())
	if err != nil {
		return err
	}
	w.view.changed(now.Since(w.before))
	w.before = now
	failed, err := w.inError()
	if err != nil {
		return err
	}
	w.view.failures(failed)
	return nil
}

// settle waits until nothing is left to do, or something is saved: then what was
// begun ends with another round, as again says.
func (w *watching) settle() error {
	ctx, cancel := context.WithCancel(w.app.Context())
	defer cancel()
	settled := make(chan error, 1)
	go func() { settled <- w.app.settle(ctx, w.model, w.ended) }()
	select {
	case err := <-settled:
		return err
	case <-w.saved:
	}
	cancel()
	err := <-settled
	if w.app.Context().Err() != nil || err != nil && !errors.Is(err, context.Canceled) {
		return errors.Trace(err)
	}
	w.again = true
	return nil
}
