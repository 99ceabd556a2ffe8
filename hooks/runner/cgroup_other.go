//go:build !linux

package runner

import "syscall"

// Cgroups gives each program a control group of its own, on Linux. There are
// none here: it is always nil.
type Cgroups struct{}

// OpenCgroups is nil: there are none here.
func OpenCgroups(string) *Cgroups { return nil }

// Close does nothing.
func (*Cgroups) Close() {}

func (*Cgroups) giveUp() {}

func (*Cgroups) enter(string, string) *cgroup { return nil }

// cgroup is always nil here.
type cgroup struct{}

func (*cgroup) hold(*syscall.SysProcAttr) {}

func (*cgroup) leave() {}
