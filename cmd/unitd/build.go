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
	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/render"
	"github.com/unitd/unitd/workload"
)

// agentPathFile is a file of the data directory with the PATH that the agent's hooks
// have: it may have been started from another shell than a command.
const agentPathFile = "agent.path"

// rememberPath notes the PATH of the hooks of the agent in this process.
func rememberPath(dir, path string) error {
	err := durable.Disk{}.ReplaceFile(filepath.Join(dir, agentPathFile), []byte(path+"\n"), 0o600)
	return errors.Annotate(err, "cannot note the PATH of hooks")
}

// agentPebbleFile is a file of the data directory with the Pebble of the agent's
// containers; it is empty where the agent has found none.
const agentPebbleFile = "agent.pebble"

// rememberPebble notes the Pebble that the agent in this process has.
func rememberPebble(dir string) error {
	path, err := workload.FindPebble()
	if err != nil {
		path = "" // it is looked for again for each container, and said there
	}
	err = durable.Disk{}.ReplaceFile(filepath.Join(dir, agentPebbleFile), []byte(path+"\n"), 0o600)
	return errors.Annotate(err, "cannot note the Pebble of containers")
}

// hooksOf is where the hooks of an application with that isolation run: in the
// machines of its units, or where the agent does. One that is yet to be started has
// this process's PATH.
func hooksOf(i model.Isolation) (charmbuild.Place, error) {
	if i.On() {
		return charmbuild.Place{Path: isolate.Path, Root: i.Root}, nil
	}
	here := charmbuild.Place{Path: machine.LocalHost().Path}
	if _, inLab, err := labTime(); err != nil || inLab {
		return here, err // the script's agent is this process's child
	}
	dir, err := dataDir()
	if err != nil {
		return here, err
	}
	here.Dir = dir
	pid, err := runningAgent()
	if err != nil || pid == 0 || pid == os.Getpid() {
		return here, err
	}
	path, err := os.ReadFile(filepath.Join(dir, agentPathFile))
	if err == nil {
		here.Path = strings.TrimSuffix(string(path), "\n")
	}
	return here, nil // an agent of a former version has noted none
}

// hooksAnywhere is where the hooks of a charm run that is packed for others: they
// have the system's Python, where this host has one.
func hooksAnywhere() charmbuild.Place {
	return charmbuild.Place{Path: isolate.Path + string(os.PathListSeparator) + machine.LocalHost().Path}
}

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

// build makes what a source tree lacks to run, if the charm is one, for the Python of
// its hooks, and shows how that goes on. What it returns holds that in the cache; nil:
// there is none.
func (a *app) build(c *charmdir.Charm, hooks charmbuild.Place) (*charmbuild.Hold, error) {
	if c.Project == nil {
		return nil, nil
	}
	cache, err := cacheDir()
	if err != nil {
		return nil, err
	}
	shown := isTerminal(a.stderr)
	clear := ""
	if shown {
		clear = clearLine
	}
	b := charmbuild.Builder{
		Cache: cache, Hooks: hooks,
		Note: func(what string) { a.note("noted, and not followed for %q: %s", c.Name, what) },
		Begin: func(charm string, from []string) {
			a.note("Installing the Python packages of %q, once for this %s", charm, strings.Join(from, ", "))
		},
		End: func(packages int, took time.Duration) {
			a.note("%sInstalled %d packages in %.1f s", clear, packages, took.Seconds())
		},
	}
	if shown {
		b.Step = func(what string) { fmt.Fprintf(a.stderr, "%s  %s", clear, render.Harmless(what)) }
	}
	hold, err := b.Build(a.ctx, c)
	if err != nil && shown {
		fmt.Fprint(a.stderr, clear)
	}
	return hold, err
}
