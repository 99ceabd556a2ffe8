package pebble

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/unitd/unitd/peer"
)

// maxSocket is how long the path of a socket may be everywhere, in bytes; the
// kernels' own limits are a little above.
const maxSocket = 100

// dialSocket connects to a socket, however long its path is: that of a container's
// is below the agent's directory, which may be anywhere. One that is too long for
// the kernel is reached from its directory. Pebble takes orders from root alone: where
// it runs in a user name space, from the one in there.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	conn, err := dialAsOneself(ctx, path)
	is, ok := conn.(*net.UnixConn)
	if err != nil || !ok || os.Geteuid() != 0 {
		return conn, err
	}
	root, err := peer.Root(is)
	if err != nil || root.UID == 0 {
		return conn, nil // it ends just now, or it is this root
	}
	conn.Close()
	return peer.DialAs(path, root)
}

func dialAsOneself(ctx context.Context, path string) (net.Conn, error) {
	var d net.Dialer
	if len(path) <= maxSocket || runtime.GOOS != "linux" {
		return d.DialContext(ctx, "unix", path)
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return d.DialContext(ctx, "unix", fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}

// Listens says whether somebody listens at a socket now.
func Listens(path string) bool {
	conn, err := dialAsOneself(context.Background(), path)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
