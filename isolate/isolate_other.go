//go:build !linux

package isolate

import (
	"context"
	"net"
	"net/netip"
	"os"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/tunnel"
)

// errNoLinux is the refusal of all here.
var errNoLinux = errors.WithType(errors.New("units can be isolated on Linux only"), ErrNoRights)

// Main is nothing here.
func Main([]string) (code int, ok bool) { return 0, false }

// Cells are none here.
type Cells struct {
	Dir, Program string
	Closed       bool
	Seed         string
	Disk         durable.Disk
}

// IDs are none.
func (*Cells) IDs() (IDs, error) { return IDs{}, nil }

// Beyond is an error: nobody may do more here.
func (*Cells) Beyond(c durable.Call) (*os.File, error) {
	return nil, &os.PathError{Op: string(c.Do), Path: c.Path, Err: os.ErrPermission}
}

// Through is the disk itself.
func (c *Cells) Through(d durable.Disk) durable.Disk { return d }

// RunInside is an error, ErrNoRights.
func (*Cells) RunInside(context.Context, IDs, []byte, ...string) ([]byte, error) {
	return nil, errNoLinux
}

// Close does nothing.
func (*Cells) Close() {}

// Propose does nothing.
func (*Cells) Propose(netip.Prefix) {}

// Subnet is none.
func (*Cells) Subnet() (p netip.Prefix, used bool, err error) { return netip.Prefix{}, false, nil }

// OpenTunnel is zero.
func (*Cells) OpenTunnel(int) (TunnelEnd, error) { return TunnelEnd{}, nil }

// SetTunnel does nothing.
func (*Cells) SetTunnel([]tunnel.Peer) ([]netip.Prefix, error) { return nil, nil }

// CloseTunnel does nothing.
func (*Cells) CloseTunnel() error { return nil }

// Candidate is none.
func Candidate(string, int) netip.Prefix { return netip.Prefix{} }

// Open is an error, ErrNoRights.
func (*Cells) Open(context.Context, string, Spec) (*Cell, error) { return nil, errNoLinux }

// Find is an error: there is none.
func (*Cells) Find(string) (*Cell, error) {
	return nil, errors.NewNotFound(nil, "the unit has no cell")
}

// Clear does nothing.
func (*Cells) Clear(string) error { return nil }

// Remove does nothing.
func (*Cells) Remove(string) error { return nil }

// Keys are none.
func (*Cells) Keys() ([]string, error) { return nil, nil }

// Halt does nothing.
func (*Cells) Halt() error { return nil }

// Pause does nothing.
func (*Cells) Pause() error { return nil }

// Copied does nothing.
func (*Cells) Copied() error { return nil }

// Try is an error, ErrNoRights.
func (*Cells) Try(context.Context, Spec) (lost string, err error) { return "", errNoLinux }

// Attempt is an error, ErrNoRights.
func (*Cells) Attempt(context.Context, Spec) (Attempt, error) { return Attempt{}, errNoLinux }

// Facts are that this isn't Linux.
func (*Cells) Facts() []Fact {
	return []Fact{{Name: "system", Value: "not Linux", Do: "units share the host here: machines of their own need Linux"}}
}

// Host is zero.
func (*Cells) Host() (HostEnd, error) { return HostEnd{}, nil }

// IPv6 are none.
func (*Cells) IPv6() (map[string]string, error) { return nil, nil }

// FaultyNet is none.
type FaultyNet struct{}

// FaultyNet is none.
func (*Cells) FaultyNet() *FaultyNet { return nil }

// Set is an error, ErrNoRights.
func (*FaultyNet) Set(NetFaults) error { return errNoLinux }

// Close does nothing.
func (*FaultyNet) Close() {}

// CanFault is an error, ErrNoRights.
func CanFault(bool) error { return errNoLinux }

// Lease is empty.
func (*Cells) Lease(string) (string, error) { return "", nil }

// Leased are none.
func (*Cells) Leased() ([]string, error) { return nil, nil }

// Release does nothing.
func (*Cells) Release(string) error { return nil }

// Listen is an error.
func (*Cells) Listen(string, int) (net.Listener, error) { return nil, errNoLinux }

// At is an error: there is none.
func At(string, string) (*Cell, error) { return nil, errors.NewNotFound(nil, "the unit has no cell") }

// Cell is never there.
type Cell struct{}

// Network is zero.
func (*Cell) Network() Network { return Network{} }

// Boots is 0.
func (*Cell) Boots() int { return 0 }

// Connect is an error.
func (*Cell) Connect(string) (*net.UnixConn, error) { return nil, errNoLinux }

// Groups are none.
func (*Cell) Groups() string { return "" }

// System is false.
func (*Cell) System() bool { return false }

// Reboot is an error.
func (*Cell) Reboot(context.Context) error { return errNoLinux }

// Running is false.
func (*Cell) Running() bool { return false }

// Pid is negative.
func (*Cell) Pid() int { return -1 }

// Joined is false.
func (*Cell) Joined(*Cell) bool { return false }

// Wait doesn't.
func (*Cell) Wait(context.Context) (Exit, error) { return Exit{}, nil }

// Stop does nothing.
func (*Cell) Stop(context.Context, time.Duration) error { return nil }

// Lost is empty.
func (*Cell) Lost() string { return "" }

// Unkept are none.
func (*Cell) Unkept() []Unkept { return nil }

// Dir is empty.
func (*Cell) Dir() string { return "" }

// Tmp is empty.
func (*Cell) Tmp() string { return "" }

// Command is the program itself.
func (*Cell) Command(_, path string, args ...string) (program string, all []string) {
	return path, args
}

// CommandAs is the program itself.
func (*Cell) CommandAs(_ Person, _, path string, args ...string) (program string, all []string) {
	return path, args
}

// OpenFile is an error.
func (*Cell) OpenFile(string, int, os.FileMode) (*os.File, error) { return nil, errNoLinux }

// Mkdir is an error.
func (*Cell) Mkdir(string, os.FileMode) error { return errNoLinux }

// Owner is an error.
func (*Cell) Owner() (uid, gid int, err error) { return 0, 0, errNoLinux }

// WorkingDir is empty.
func (*Cell) WorkingDir() string { return "" }

// OpenAsPerson is an error.
func (*Cell) OpenAsPerson(string, int, os.FileMode) (*os.File, error) { return nil, errNoLinux }

// IDs are none.
func (*Cell) IDs() IDs { return IDs{} }

// OnHost are the same numbers.
func (*Cell) OnHost(uid, gid int) (int, int) { return uid, gid }

// OfProcess are the same numbers.
func (*Cell) OfProcess(uid, gid int) (int, int) { return uid, gid }

// Numbers are none.
func (*Cell) Numbers() (first, size int) { return 0, 0 }

// Chown is an error.
func (*Cell) Chown(*os.File, int, int) error { return errNoLinux }

// Give is an error.
func (*Cell) Give(string, int, int) error { return errNoLinux }

// RunAs is an error.
func (*Cell) RunAs(Person) error { return errNoLinux }

// Person is root.
func (*Cell) Person() Person { return Person{} }

// Home is that of root.
func (*Cell) Home() string { return "/root" }

// EditFile is an error.
func (*Cell) EditFile(string, func(string) string) error { return errNoLinux }

// Listen is an error.
func (*Cell) Listen(string, int) (net.Listener, error) { return nil, errNoLinux }

// ToolsFor is an error.
func (*Cell) ToolsFor(string) (host, inside string, err error) { return "", "", errNoLinux }

// Attach is an error.
func (*Cell) Attach(_, _, _ string) error { return errNoLinux }

// AttachBind is an error.
func (*Cell) AttachBind(string, Bind) error { return errNoLinux }

// Detach does nothing.
func (*Cell) Detach(_, _ string) error { return nil }

// Jujud is an error.
func (*Cell) Jujud(_, _ string) error { return errNoLinux }

// Placed is an error, ErrNoRights.
func Placed(_, _, _, to, _ string, _ ...string) (string, []string, error) {
	return "", nil, errors.WithType(errors.Errorf("nothing can be had at %s here, which takes Linux", to), ErrNoRights)
}
