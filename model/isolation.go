package model

import (
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Isolation says whether the units of an application have machines of their own
// on their host; see package isolate. The zero value is that they share it.
type Isolation struct {
	// Mode is one of IsolationModes; empty is IsolateOff.
	Mode string `json:"mode,omitempty"`
	// Root is a directory of the host that is under the units' changes; empty is
	// the host's root.
	Root string `json:"root,omitempty"`
	// OS is the system that units are told they are on; empty is that of the
	// agent's choice.
	OS string `json:"os,omitempty"`
}

// The modes of isolation.
const (
	// IsolateOff: units share the host.
	IsolateOff = "off"
	// IsolateOn: units have all of it, or don't run.
	IsolateOn = "on"
	// IsolateMachine: units have all of it, and systemd, on a root of their own.
	IsolateMachine = "machine"
	// IsolateAuto: units have what the rights of their agent allow.
	IsolateAuto = "auto"
	// IsolateFiles: units have all but a network of their own.
	IsolateFiles = "files"
)

// IsolationModes are all of them.
func IsolationModes() []string {
	return []string{IsolateMachine, IsolateOn, IsolateAuto, IsolateFiles, IsolateOff}
}

// SharedRootModes are those that need no root to be named.
func SharedRootModes() []string { return IsolationModes()[1:] }

// On says whether units are isolated at all.
func (i Isolation) On() bool { return i.Mode != "" && i.Mode != IsolateOff }

// OwnNetwork says whether units that are isolated so have a network of their own, or
// may have one.
func (i Isolation) OwnNetwork() bool { return i.On() && i.Mode != IsolateFiles }

// Validate is NotValid for a mode that isn't known, and for a root or system
// without isolation.
func (i Isolation) Validate() error {
	switch {
	case i.Mode != "" && !slices.Contains(IsolationModes(), i.Mode):
		return errors.NewNotValid(nil, fmt.Sprintf("isolation %q is not known: it can be %s", i.Mode, strings.Join(IsolationModes(), ", ")))
	case !i.On() && i.Root+i.OS != "":
		return errors.NewNotValid(nil, "a root or a system is for isolated units only")
	case i.Mode == IsolateMachine && i.Root == "":
		return errors.NewNotValid(nil, "isolation \"machine\" needs a root with systemd: --isolate-root DIR, or --isolate-root BASE after \"unitd base fetch BASE\"")
	case i.Root != "" && !strings.HasPrefix(i.Root, "/"):
		return errors.NewNotValid(nil, fmt.Sprintf("the root %q is not an absolute path", i.Root))
	}
	return nil
}
