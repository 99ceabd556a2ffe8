package charmdir

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
)

// Two charms and what hooks have made of the first: what each row of the
// tests below starts from and may end with.
const (
	oldURL = "local:a-1"
	newURL = "local:a-2"
)

func oldCharm() files {
	return files{
		"metadata.yaml": leastMetadata, "dispatch*": "#!/bin/sh\n", "version": "1", "gone": "old", "lib/gone/x": "old", "empty/": "",
		"was-file": "old", "was-dir/x": "old", "hooks/install@": "../dispatch", "full/x": "old", "opened": "old",
	}
}

func newCharm() files {
	return files{
		"metadata.yaml": leastMetadata, "dispatch*": "#!/bin/sh -e\n", "version": "2", "added/y": "new", "both": "new",
		"was-file/x": "new", "was-dir": "new", "hooks/install*": "new", "full@": "added", "state/z": "new", "both.kept.kept": "new",
	}
}

// hookFiles are what hooks make in the first charm's tree.
func hookFiles() files {
	return files{
		".unit-state.db": "state", "both": "hook", "both.kept": "older", "lib/gone/made": "hook", "deep/er/made*": "hook",
		"venv/python@": "/usr/bin/python3", "state@": "/var/lib/x", "full/made": "hook", "was-dir/made": "hook",
		"made-empty/": "", "added/made": "hook",
	}
}

// upgraded is the new tree with what hooks have made.
func upgraded() files {
	return files{
		"metadata.yaml": leastMetadata, "dispatch*": "#!/bin/sh -e\n", "version": "2", "added/": "", "added/y": "new",
		"was-file/": "", "was-file/x": "new", "hooks/": "", "hooks/install*": "new", "full@": "added",
		"empty/": "", "both": "new", "both.kept": "hook", "both.kept.kept": "new", "both.kept.kept.kept": "older",
		".unit-state.db": "state", "lib/": "", "lib/gone/": "", "lib/gone/made": "hook", "deep/": "", "deep/er/": "", "deep/er/made*": "hook",
		"venv/": "", "venv/python@": "/usr/bin/python3", "state/": "", "state/z": "new", "state.kept@": "/var/lib/x",
		"full.kept/": "", "full.kept/made": "hook", "was-dir": "new", "was-dir.kept/": "", "was-dir.kept/made": "hook",
		"made-empty/": "", "added/made": "hook", "opened/": "", "opened/made": "hook",
	}
}

// way is how a deployment can go: over a charm that hooks have run in, with trees that
// are exchanged in one step, from a store.
type way struct{ deployed, exchanges, shared bool }

// place is a unit's directory, with a charm that hooks have run in, or none.
type place struct {
	*Deployer
	store         *Store // nil: the charms come from archives
	before, after files  // the charm's tree, without the marker
	url           string
}

func newPlace(t *testing.T, archives map[string]string, w way) place {
	t.Helper()
	p := place{Deployer: NewDeployer(durable.Disk{}, t.TempDir()), before: files{}, after: newTree()}
	if w.shared {
		p.store = NewStore(durable.Disk{}, t.TempDir())
	}
	if !w.exchanges {
		p.exchange = func(_, _ string) (bool, error) { return false, nil }
	}
	if !w.deployed {
		return p
	}
	p.url = oldURL
	must(t, p.put(archives, oldURL))
	hookFiles().write(t, p.Path())
	// A hook has put a directory where the charm had a file.
	must(t, os.Remove(filepath.Join(p.Path(), "opened")))
	files{"opened/made": "hook"}.write(t, p.Path())
	must(t, os.Chmod(filepath.Join(p.Path(), "deep"), 0o700))
	p.before, p.after = p.tree(t), upgraded()
	return p
}

// put deploys a charm as the place has it.
func (p place) put(archives map[string]string, url string) error {
	if p.store == nil {
		return p.Deploy(context.Background(), archives[url], url)
	}
	t, release, err := p.store.Tree(context.Background(), digestOf(archives[url]), fetching(archives[url]))
	if err != nil {
		return err
	}
	defer release()
	return p.DeployTree(context.Background(), t, url)
}

// newTree is the new charm's without anything of hooks'.
func newTree() files {
	out := files{"was-file/": "", "added/": "", "state/": "", "hooks/": ""}
	maps.Copy(out, newCharm())
	return out
}

func (p place) tree(t *testing.T) files {
	t.Helper()
	if _, err := os.Lstat(p.Path()); os.IsNotExist(err) {
		return files{}
	}
	got := look(t, p.Path())
	delete(got, markerName)
	return got
}

// check is an error unless the old tree or the new one is in place, all of it.
func (p place) check(t *testing.T, when string) (url string) {
	t.Helper()
	url, err := p.Deployed()
	must(t, err)
	want := p.before
	if url == newURL {
		want = p.after
	} else if url != p.url {
		t.Errorf("%s: charm %q is deployed", when, url)
	}
	if got := p.tree(t); !maps.Equal(got, want) {
		t.Errorf("%s: charm %q with the tree\n%q, not\n%q", when, url, got, want)
	}
	return url
}

// checkClean is an error if there is anything beside the charm's tree.
func (p place) checkClean(t *testing.T, when string) {
	t.Helper()
	entries, err := os.ReadDir(p.dir)
	must(t, err)
	for _, e := range entries {
		if e.Name() != charmName && (p.store == nil || e.Name() != treeName) {
			t.Errorf("%s: %s is left", when, e.Name())
		}
	}
}

// checkStore is an error unless the next agent's store has what the unit needs, at most.
func (p place) checkStore(t *testing.T, when string) {
	t.Helper()
	if p.store == nil {
		return
	}
	p = p.again()
	p.store.collect(t, p)
	for _, name := range p.store.kept(t) {
		if name != Needed(p.dir) {
			t.Errorf("%s: the store has %s", when, name)
		}
	}
}

func archives(t *testing.T) map[string]string {
	return map[string]string{oldURL: oldCharm().archive(t), newURL: newCharm().archive(t)}
}

// ways are the ways that a deployment can go.
func ways(t *testing.T, do func(t *testing.T, w way)) {
	for _, w := range []way{
		{}, {deployed: true}, {exchanges: true}, {deployed: true, exchanges: true},
		{exchanges: true, shared: true}, {deployed: true, exchanges: true, shared: true},
	} {
		t.Run(fmt.Sprintf("deployed before %v, in one step %v, from a store %v", w.deployed, w.exchanges, w.shared), func(t *testing.T) {
			t.Parallel()
			do(t, w)
		})
	}
}

func TestDeploy(t *testing.T) {
	t.Parallel()
	from := archives(t)
	ways(t, func(t *testing.T, w way) {
		p := newPlace(t, from, w)
		p.check(t, "at first")
		must(t, p.put(from, newURL))
		if url := p.check(t, "deployed"); url != newURL {
			t.Errorf("charm %q is deployed", url)
		}
		p.checkClean(t, "deployed")
		if st, err := os.Lstat(p.Path()); err != nil || !st.IsDir() {
			t.Errorf("the charm's path isn't a directory: %v, %v", st, err)
		}
		if st, err := os.Stat(filepath.Join(p.Path(), "deep")); w.deployed && (err != nil || st.Mode().Perm() != 0o700) {
			t.Errorf("a directory that a hook had closed: %v, %v", st, err)
		}
		var want []Kept
		if w.deployed {
			want = []Kept{{"both", "both.kept"}, {"both.kept", "both.kept.kept.kept"}, {"full", "full.kept"}, {"state", "state.kept"}, {"was-dir", "was-dir.kept"}}
		}
		if kept, err := p.Kept(); err != nil || !slices.Equal(kept, want) {
			t.Errorf("kept is %v, want %v; %v", kept, want, err)
		}
		// The same charm again is no change, and what was kept stays.
		must(t, p.put(from, newURL))
		p.check(t, "deployed again")
	})
}

var errKilled = errors.New("killed")

// killer lets a number of steps pass and none after them.
type killer struct {
	left int
	at   string // the step that wasn't made
}

func (k *killer) before(step string) error {
	if k.left--; k.left >= 0 {
		return nil
	}
	if k.at == "" {
		k.at = step
	}
	return errKilled
}

// killedBy has the killer see each step, of the store too.
func (p place) killedBy(k *killer) {
	p.Deployer.before = k.before
	if p.store != nil {
		p.store.step = p.Deployer.step
	}
}

// again is the place with an agent that has just begun.
func (p place) again() place {
	p.Deployer.before = func(string) error { return nil }
	if p.store != nil {
		p.store = NewStore(durable.Disk{}, p.store.dir)
	}
	return p
}

// TestKilledAtEachStep: wherever a deployment is killed, and wherever the
// recovery is, the old tree or the new one is in place in the end, whole.
func TestKilledAtEachStep(t *testing.T) {
	t.Parallel()
	from := archives(t)
	ways(t, func(t *testing.T, w way) {
		ends := map[string]int{}
		for n, done := 0, false; !done; n++ {
			for m, recovered := 0, false; !recovered; m++ {
				p := newPlace(t, from, w)
				deploy := &killer{left: n}
				p.killedBy(deploy)
				err := p.put(from, newURL)
				if done = err == nil; !done && !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
				when := fmt.Sprintf("killed before step %d, %q", n, deploy.at)
				if w.exchanges {
					p.check(t, when) // no need even to recover
				}
				recovery := &killer{left: m}
				p.killedBy(recovery)
				if err := p.Recover(); err != nil {
					if !errors.Is(err, errKilled) {
						t.Fatal(when, err)
					}
					when += fmt.Sprintf(", its recovery before step %d, %q", m, recovery.at)
					p = p.again()
					must(t, p.Recover())
				} else {
					recovered = true
				}
				url := p.check(t, when)
				p.checkClean(t, when)
				p.checkStore(t, when)
				ends[url]++
				if t.Failed() {
					return
				}
			}
		}
		if ends[newURL] == 0 || w.deployed && ends[oldURL] == 0 || !w.deployed && ends[""] == 0 {
			t.Errorf("the deployments ended with %v", ends)
		}
	})
}

// TestDeployAfterAKill: what a killed deployment has left is no obstacle to the
// next one.
func TestDeployAfterAKill(t *testing.T) {
	t.Parallel()
	from := archives(t)
	ways(t, func(t *testing.T, w way) {
		for n, done := 0, false; !done; n++ {
			p := newPlace(t, from, w)
			k := &killer{left: n}
			p.killedBy(k)
			done = p.put(from, newURL) == nil
			p = p.again()
			must(t, p.put(from, newURL))
			when := fmt.Sprintf("again after a kill before step %d, %q", n, k.at)
			if url := p.check(t, when); url != newURL {
				t.Errorf("%s: charm %q is deployed", when, url)
			}
			p.checkClean(t, when)
		}
	})
}

// TestFailedDeployLeavesTheOldTree: a step that fails, as on a full disk, is
// not a kill: what was staged is cleared away at once.
func TestFailedDeployLeavesTheOldTree(t *testing.T) {
	t.Parallel()
	from := archives(t)
	for _, step := range []string{"make staging", "write version", "write added/y", "keep .unit-state.db", "write marker", "sync staging"} {
		t.Run("failed: "+step, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t, from, way{deployed: true, exchanges: true})
			p.Deployer.before = func(s string) error {
				if s == step {
					return errKilled
				}
				return nil
			}
			if err := p.Deploy(t.Context(), from[newURL], newURL); !errors.Is(err, errKilled) || !strings.HasPrefix(err.Error(), "cannot unpack charm "+newURL+": ") {
				t.Errorf("got %v", err)
			}
			if url := p.check(t, "failed"); url != oldURL {
				t.Errorf("charm %q is deployed", url)
			}
			p.checkClean(t, "failed")
		})
	}
}

func TestDeployIsCancelled(t *testing.T) {
	t.Parallel()
	from := archives(t)
	p := newPlace(t, from, way{deployed: true, exchanges: true})
	ctx, cancel := context.WithCancel(t.Context())
	p.Deployer.before = func(step string) error {
		if step == "write dispatch" {
			cancel()
		}
		return nil
	}
	if err := p.Deploy(ctx, from[newURL], newURL); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	p.check(t, "cancelled")
	p.checkClean(t, "cancelled")
}

// TestHookDamagesTheMarker: unitd can't tell any more who made what. The charm
// is taken as missing and deployed again; no hook's file is lost.
func TestHookDamagesTheMarker(t *testing.T) {
	t.Parallel()
	from := archives(t)
	for name, damage := range map[string]func(path string) error{
		"removed":     os.Remove,
		"overwritten": func(path string) error { return os.WriteFile(path, []byte("{"), 0o644) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := NewDeployer(durable.Disk{}, t.TempDir())
			must(t, p.Deploy(t.Context(), from[oldURL], oldURL))
			files{".unit-state.db": "state", "dispatch": "damaged"}.write(t, p.Path())
			must(t, damage(filepath.Join(p.Path(), markerName)))
			if url, err := p.Deployed(); url != "" || err != nil {
				t.Errorf("charm %q is deployed (%v)", url, err)
			}
			must(t, p.Deploy(t.Context(), from[oldURL], oldURL))
			got := look(t, p.Path())
			if got[".unit-state.db"] != "state" || got["dispatch*"] != "#!/bin/sh\n" || got["dispatch.kept*"] != "" {
				t.Errorf("got %q", got)
			}
		})
	}
}

// TestDeployOfWhatIsNoArchive says which charm it was.
func TestDeployOfWhatIsNoArchive(t *testing.T) {
	t.Parallel()
	d := NewDeployer(durable.Disk{}, t.TempDir())
	path := filepath.Join(files{"x": "no archive"}.dir(t), "x")
	if err := d.Deploy(t.Context(), path, newURL); err == nil || err.Error() != "cannot unpack charm local:a-2: zip: not a valid zip file" {
		t.Errorf("got %v", err)
	}
	if url, err := d.Deployed(); url != "" || err != nil {
		t.Errorf("charm %q is deployed (%v)", url, err)
	}
}
