package main

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
	"github.com/unitd/unitd/render"
)

// watchFlags are the flags of watch.
type watchFlags struct {
	bundle  string
	once    bool
	isolate isolateFlags
}

func (a *app) watchCmd() *cobra.Command {
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
		Args: args(1, 1, "no charm specified"),
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
	f.isolate.declare(cmd)
	_ = cmd.MarkFlagFilename("bundle", "yaml", "yml")
	return cmd
}

// saveQuiet is how long nothing must have been saved before a charm is read.
const saveQuiet = 200 * time.Millisecond

func (a *app) watch(path string, f watchFlags) error {
	if !filepath.IsAbs(path) && !strings.HasPrefix(path, ".") {
		path = "./" + path
	}
	if st, err := os.Stat(path); err == nil && !st.IsDir() {
		return usagef("%s is not the directory of an unpacked charm", path)
	}
	// Before it is read for the first time, so that no save is missed.
	ctx, stop := context.WithCancel(a.ctx)
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
	defer p.drop()
	if p.isolation, err = f.isolate.isolation(); err != nil {
		return err
	}
	w, err := a.startWatching(path, apps, saved)
	if err != nil {
		return err
	}
	defer w.end()
	p.asked, p.dir = f.isolate, w.dir
	if f.isolate.told() {
		err = a.checkIsolationIn(w.dir, w.dir, p.isolation, false)
	} else {
		err = a.isolatePlan(p, w.dir)
	}
	if err != nil {
		return err
	}
	err = w.run(p, f.once)
	if a.ctx.Err() != nil && !f.once {
		if isTerminal(a.stdout) {
			a.printf("\n") // the terminal shows ^C
		}
		return nil // that is how it ends
	}
	return err
}

// planWatch is what is deployed at first, and which applications of it have the
// watched charm.
func (a *app) planWatch(path, bundlePath string) (*plan, []string, error) {
	if bundlePath != "" {
		return a.planWatchBundle(path, bundlePath)
	}
	charm, err := readCharm(path)
	if err != nil {
		return nil, nil, err
	}
	if charm.Subordinate {
		return nil, nil, usagef("%q is a subordinate, which has no units without a principal: name a bundle that relates it to one with --bundle", charm.Name)
	}
	app, err := a.planApp(bundle.Application{Name: charm.Name, Charm: path, Units: -1})
	if err != nil {
		return nil, nil, err
	}
	return &plan{Bundle: &bundle.Bundle{}, apps: []plannedApp{app}}, []string{charm.Name}, nil
}

func (a *app) planWatchBundle(path, bundlePath string) (*plan, []string, error) {
	p, err := a.planBundle(bundlePath)
	if err != nil {
		return nil, nil, err
	}
	var apps, charms []string
	for _, app := range p.apps {
		if sameFile(app.packed.Path, path) {
			apps = append(apps, app.Application.Name)
		}
		charms = append(charms, app.packed.Path)
	}
	if len(apps) > 0 {
		return p, apps, nil
	}
	p.drop()
	return nil, nil, errors.NewNotFound(nil, fmt.Sprintf("no application of %s has the charm %s; its charms are %s", bundlePath, path, strings.Join(charms, ", ")))
}

// sameFile says whether two paths lead to the same file.
func sameFile(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// run plays rounds, one for the deployment and one for each save.
func (w *watching) run(p *plan, once bool) error {
	w.view.hooks.fit(p)
	w.view.begin("deploying " + strings.Join(w.apps, ", "))
	err := w.app.apply(w.model, p)
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
		return errors.Trace(w.app.ctx.Err())
	case err := <-w.ended:
		w.ended <- err // for end
		return err
	case <-w.app.ctx.Done():
		return errors.Trace(w.app.ctx.Err())
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
	if w.app.ctx.Err() != nil {
		return errors.Trace(w.app.ctx.Err())
	}
	if err == nil && title == "" && len(waiting) == 0 {
		return nil // what was saved is nothing that the charm has
	}
	w.view.begin(cmp.Or(title, "running again what failed"))
	if err != nil {
		w.app.printf("%s %s\n", w.app.paint(w.app.stdout, render.BrightRed, "ERROR"), render.Harmless(err.Error()))
		return nil
	}
	return w.finish(waiting)
}

// refresh gives the applications the charm as it is now. The result says what
// was done; it is empty where the charm is the one that they have.
func (w *watching) refresh() (string, error) {
	charm, err := readCharm(w.path)
	if err != nil {
		return "", err
	}
	app, err := w.model.Application(w.app.ctx, w.apps[0])
	if err != nil {
		return "", err
	}
	p, err := w.app.pack(charm, app.Isolation)
	if err != nil {
		return "", err
	}
	defer p.drop()
	url, title := "", ""
	for _, name := range w.apps {
		old, err := w.app.refreshable(w.model, name, charm.Charm)
		if err != nil {
			return "", err
		}
		if old.SHA256 == p.sum {
			continue
		}
		if url == "" {
			if url, err = p.store(w.app.ctx, w.model); err != nil {
				return "", err
			}
		}
		// By force, as units in error get it too.
		if err := w.model.SetCharm(w.app.ctx, name, url, true); err != nil {
			return "", err
		}
		title = fmt.Sprintf("refreshing %s to revision %s", strings.Join(w.apps, ", "), revision(url))
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
		err := w.model.Resolve(w.app.ctx, unit.name, true)
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
	now, err := w.model.Picture(w.app.ctx)
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
	ctx, cancel := context.WithCancel(w.app.ctx)
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
	if w.app.ctx.Err() != nil || err != nil && !errors.Is(err, context.Canceled) {
		return errors.Trace(err)
	}
	w.again = true
	return nil
}
