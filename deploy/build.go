package deploy

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/terminal"
)

// CacheDir is where what source trees lack to run is kept.
func CacheDir() (string, error) { return cacheDir("packages") }

// cacheDir is a folder of this user's cache.
func cacheDir(of string) (string, error) {
	dir := os.Getenv("UNITD_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", errors.New("cannot tell where to keep what charms are built with, and come from: set HOME or UNITD_CACHE")
		}
		dir = filepath.Join(base, "unitd")
	}
	dir, err := filepath.Abs(dir)
	return filepath.Join(dir, of), errors.Annotate(err, "cannot find the cache")
}

// Build makes what a source tree lacks to run, if the charm is one, for the Python of
// its hooks, and shows how that goes on. What it returns holds that in the cache; nil:
// there is none.
func (d *Deployer) Build(c *charmdir.Charm, hooks charmbuild.Place) (*charmbuild.Hold, error) {
	if c.Project == nil {
		return nil, nil
	}
	cache, err := CacheDir()
	if err != nil {
		return nil, err
	}
	shown := terminal.Is(d.stderr)
	clear := ""
	if shown {
		clear = terminal.ClearLine
	}
	b := charmbuild.Builder{
		Cache: cache, Hooks: hooks,
		Note: func(what string) { d.Note("noted, and not followed for %q: %s", c.Name, what) },
		Begin: func(charm string, from []string) {
			d.Note("Installing the Python packages of %q, once for this %s", charm, strings.Join(from, ", "))
		},
		End: func(packages int, took time.Duration) {
			d.Note("%sInstalled %d packages in %.1f s", clear, packages, took.Seconds())
		},
	}
	if shown {
		b.Step = func(what string) { fmt.Fprintf(d.stderr, "%s  %s", clear, render.Harmless(what)) }
	}
	hold, err := b.Build(d.Context(), c)
	if err != nil && shown {
		fmt.Fprint(d.stderr, clear)
	}
	return hold, err
}
