package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/isolate"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
)

// isolateVariable says how applications are isolated for which nothing else is
// said; it is there for CI, and for the worlds of scripts.
const isolateVariable = "UNITD_ISOLATE"

// isolateFlags are the flags of commands that deploy.
type isolateFlags struct{ mode, root, os string }

func (f *isolateFlags) declare(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringVar(&f.mode, "isolate", "", "give each unit a machine of its own on this host: "+strings.Join(model.IsolationModes(), ", "))
	fs.Lookup("isolate").NoOptDefVal = model.IsolateOn
	fs.StringVar(&f.root, "isolate-root", "", "the directory that isolated units have as their root (the host's root)")
	fs.StringVar(&f.os, "isolate-os", "", "the system that isolated units are told they are on: "+strings.Join(isolate.Systems(), ", "))
}

// isolation is what the flags ask for, with what isn't said as it is mostly.
func (f isolateFlags) isolation() (model.Isolation, error) {
	i := model.Isolation{Mode: cmp.Or(f.mode, os.Getenv(isolateVariable)), Root: f.root, OS: f.os}
	if i.Root != "" {
		abs, err := filepath.Abs(i.Root)
		if err != nil {
			return i, errors.Trace(err)
		}
		i.Root = abs
	}
	if err := i.Validate(); err != nil {
		return i, usagef("%v", err)
	}
	if i.Mode == model.IsolateOff {
		i.Mode = ""
	}
	if !i.On() {
		return i, nil
	}
	var err error
	if i.OS, err = isolate.ParseOS(i.OS); err != nil {
		return i, usagef("--isolate-os: %v", err)
	}
	return i, nil
}

// checkIsolation says whether units can be isolated here, and tells what they
// will lack.
func (a *app) checkIsolation(i model.Isolation) error {
	if !i.On() {
		return nil
	}
	dir, err := dataDir()
	if err != nil {
		return err
	}
	self, err := stableSelf(dir)
	if err != nil {
		return err
	}
	lost, err := machine.NewCells(dir, self).Try(a.ctx, isolate.Spec{Name: "units", Hostname: "try", ID: "try", Mode: i.Mode, Root: i.Root, OS: i.OS})
	switch {
	case errors.Is(err, isolate.ErrNoRights):
		return errors.WithType(fmt.Errorf("units can't be isolated here: %s; without --isolate they share the host, its files, processes and ports", err), isolate.ErrNoRights)
	case err != nil:
		return err
	case lost != "":
		a.note("isolated in part: %s", lost)
	}
	return nil
}
