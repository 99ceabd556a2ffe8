package lab

import (
	"context"
	"path/filepath"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/sqlite"
)

const (
	// StoreVariable names the store of a test world where it isn't a file of its
	// own: a URL as package etcd reads it, with a prefix that nobody else has.
	StoreVariable = "UNITD_LAB_STORE"
	// StoreName is the file in the data directory that else has it.
	StoreName = "store.db"
)

// OpenStore opens the store of the test world with the data directory dir: the
// one in etcd that url names, whose leases go by the clock as well, or, where it
// is empty, the file.
func OpenStore(ctx context.Context, dir, url string, c clock.Clock) (store.Store, error) {
	if url == "" {
		s, err := sqlite.Open(filepath.Join(dir, StoreName), sqlite.Options{Clock: c})
		if err != nil {
			return nil, errors.Trace(err)
		}
		return s, nil
	}
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		return nil, errors.Annotate(err, StoreVariable)
	}
	s, err := etcd.Open(ctx, o)
	if err != nil {
		return nil, errors.Trace(err)
	}
	return newLeases(s, c), nil
}
