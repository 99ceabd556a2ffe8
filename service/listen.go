package service

import (
	"net"
	"os"
	"strconv"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
)

// firstDescriptor is that of the first socket. Source: docs/spec/service-manager.md §3.
const firstDescriptor = 3

// Listener is the socket that the service manager has opened for this process, and nil where it
// has opened none. It takes what says so out of the environment. The error is for a number of
// sockets other than one, and for what isn't a socket that listens.
func Listener() (net.Listener, error) {
	pid, count := os.Getenv("LISTEN_PID"), os.Getenv("LISTEN_FDS")
	for _, name := range []string{"LISTEN_PID", "LISTEN_FDS", "LISTEN_FDNAMES"} {
		os.Unsetenv(name)
	}
	if count == "" || pid != strconv.Itoa(os.Getpid()) {
		return nil, nil
	}
	if count != "1" {
		return nil, errors.Errorf("cannot use the sockets of the service manager: one is needed, and there are %s", count)
	}
	unix.CloseOnExec(firstDescriptor)
	f := os.NewFile(firstDescriptor, "LISTEN_FD")
	defer f.Close() // the listener has one of its own
	l, err := net.FileListener(f)
	return l, errors.Annotate(err, "cannot use the socket of the service manager")
}
