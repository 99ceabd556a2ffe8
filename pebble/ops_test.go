package pebble_test

import (
	"net"
	"testing"

	"github.com/unitd/unitd/pebble/pebbletest"
)

// TestHostOpsTestsPassOnABarePebble shows that the tests of K-130 run, before
// there is a container.
func TestHostOpsTestsPassOnABarePebble(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := l.Addr().String()
	must(t, l.Close())
	p := pebbletest.Start(t, pebbletest.Options{Args: []string{"--http", address}})
	pebbletest.OpsTests(t.Context(), t, pebbletest.Ops{Socket: p.Socket, HTTP: address, Temp: t.TempDir()})
}
