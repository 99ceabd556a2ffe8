//go:build !linux

package machine_test

import (
	"testing"

	"github.com/unitd/unitd/state/store/etcd/etcdtest"
)

// networksFor are networks for the agents of a test.
func networksFor(t *testing.T) networks {
	return &wires{t: t, of: map[*host][]*etcdtest.Wire{}}
}
