package pebble

import (
	"context"
	"errors"
	"net"
	"os"

	"github.com/unitd/unitd/peer"
)

// dialSocket connects to a socket, however long its path is: that of a container's
// is below the agent's directory, which may be anywhere. Pebble takes orders from root
// alone: where it runs in a user name space, from the one in there.
func dialSocket(ctx context.Context, path string) (net.Conn, error) {
	conn, err := dialPlain(ctx, path)
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

func dialPlain(ctx context.Context, path string) (net.Conn, error) {
	short, leave, err := peer.Plain(path)
	if err != nil {
		return nil, err
	}
	defer leave()
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", short)
	var failed *net.OpError
	if errors.As(err, &failed) {
		failed.Addr = &net.UnixAddr{Name: path, Net: "unix"}
	}
	return conn, err
}

// Listens says whether somebody listens at a socket now.
func Listens(path string) bool {
	conn, err := dialPlain(context.Background(), path)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
