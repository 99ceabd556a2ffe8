package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/charmbuild"
	"github.com/unitd/unitd/charmdir"
)

// cacheDir is where what source trees lack to run is kept.
func cacheDir() (string, error) {
	dir := os.Getenv("UNITD_CACHE")
	if dir == "" {
		base, err := os.UserCacheDir()
		if err != nil {
			return "", errors.New("cannot tell where to keep what charms are built with: set HOME or UNITD_CACHE")
		}
		dir = filepath.Join(base, "unitd")
	}
	dir, err := filepath.Abs(dir)
	return filepath.Join(dir, "packages"), errors.Annotate(err, "cannot find the cache")
}

// build makes what a source tree lacks to run, if the charm is one, and shows
// how that goes on.
func (a *app) build(c *charmdir.Charm) error {
	if c.Project == nil {
		return nil
	}
	cache, err := cacheDir()
	if err != nil {
		return err
	}
	if len(c.Project.Ignored) > 0 {
		a.note("noted, and not followed for %q: %s", c.Name, strings.Join(c.Project.Ignored, ", "))
	}
	shown := isTerminal(a.stderr)
	clear := ""
	if shown {
		clear = "\r\x1b[K"
	}
	b := charmbuild.Builder{
		Cache: cache,
		Begin: func(charm string, from []string) {
			a.note("Installing the Python packages of %q, once for this %s", charm, strings.Join(from, ", "))
		},
		End: func(packages int, took time.Duration) {
			a.note("%sInstalled %d packages in %.1f s", clear, packages, took.Seconds())
		},
	}
	if shown {
		b.Step = func(what string) { fmt.Fprintf(a.stderr, "%s  %s", clear, harmless(what)) }
	}
	err = b.Build(a.ctx, c)
	if err != nil && shown {
		fmt.Fprint(a.stderr, clear)
	}
	return err
}
