//go:build !linux

package tap

import (
	"net"

	"github.com/juju/errors"
)

// peer is who is at the other end of a connection: nobody knows here, where there
// are no workload containers.
type peer struct{ pid int }

var errNoLinux = errors.New("workload containers are on Linux only")

func peerOf(*net.UnixConn) (peer, error) { return peer{}, errNoLinux }

// Listen is an error here.
func Listen(string) (*net.UnixListener, error) { return nil, errNoLinux }

func dial(string, *net.UnixAddr) (*net.UnixConn, error) { return nil, errNoLinux }

func dialAs(string, peer) (*net.UnixConn, error) { return nil, errNoLinux }
