package state

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// provider is what the storage of a pool is made of. Each provider is a pool of
// its own name.
func (d docs) provider(pool string) (model.StorageProvider, error) {
	if p, ok := model.StorageProviderOf(pool); ok {
		return p, nil
	}
	var doc PoolDoc
	if err := d.get(poolKey(pool), &doc); err != nil {
		return model.StorageProvider{}, named(err, "pool", pool)
	}
	p, _ := model.StorageProviderOf(doc.Provider)
	return p, nil
}

// AddPool makes a storage pool: another name for a provider.
func (m *Model) AddPool(ctx context.Context, name, provider string) error {
	if !model.ValidPool(name) {
		return errors.NewNotValid(nil, fmt.Sprintf("pool name %q is not valid", name))
	}
	if _, ok := model.StorageProviderOf(provider); !ok {
		return errors.NewNotFound(nil, fmt.Sprintf("storage provider %q not found", provider))
	}
	_, err := m.update(ctx, func(tx *txn) error {
		if _, err := tx.provider(name); !errors.Is(err, errors.NotFound) {
			if err == nil {
				err = errors.NewAlreadyExists(nil, fmt.Sprintf("cannot create pool %q: storage pool %q already exists", name, name))
			}
			return errors.Trace(err)
		}
		return tx.put(poolKey(name), PoolDoc{Name: name, Provider: provider})
	})
	return errors.Trace(err)
}

// Pools are all storage pools by name, those of the providers among them.
func (m *Model) Pools(ctx context.Context) ([]PoolDoc, error) {
	var pools []PoolDoc
	_, err := m.view(ctx, func(r docs) (err error) {
		pools, err = list[PoolDoc](r, "storage-pool/")
		return errors.Trace(err)
	})
	for _, p := range model.StorageProviders() {
		pools = append(pools, PoolDoc{Name: p.Name, Provider: p.Name})
	}
	slices.SortFunc(pools, func(a, b PoolDoc) int { return strings.Compare(a.Name, b.Name) })
	return pools, errors.Trace(err)
}
