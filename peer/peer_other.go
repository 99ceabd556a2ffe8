//go:build !linux

package peer

import (
	"net"

	"github.com/juju/errors"
)

var errNoLinux = errors.NotSupportedf("asking who is at the other end of a socket, on a system that isn't Linux,")

// Of is an error here.
func Of(*net.UnixConn) (Who, error) { return Who{}, errNoLinux }

// Root is an error here.
func Root(*net.UnixConn) (Who, error) { return Who{}, errNoLinux }

// Listen is an error here.
func Listen(string) (*net.UnixListener, error) { return nil, errNoLinux }

// Plain is the path itself: units share the host here.
func Plain(path string) (short string, leave func(), err error) { return path, func() {}, nil }

// Dial is an error here.
func Dial(string, *net.UnixAddr) (*net.UnixConn, error) { return nil, errNoLinux }

// DialAs is an error here.
func DialAs(string, Who) (*net.UnixConn, error) { return nil, errNoLinux }
