package bench

import (
	"context"
	"path/filepath"

	"github.com/juju/errors"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/sqlite"
)

// measureCommit measures a durable transaction of the store that writes a document
// of the usual size, and by turns a durable write to a file.
func measureCommit(ctx context.Context, m *measuring) (_ []Figure, err error) {
	s, err := sqlite.Open(filepath.Join(m.dir, "commits.db"), sqlite.Options{})
	if err != nil {
		return nil, errors.Annotate(err, "cannot make a store")
	}
	defer func() {
		if closed := s.Close(); err == nil {
			err = errors.Trace(closed)
		}
	}()
	d, err := newDisk(m.dir)
	if err != nil {
		return nil, err
	}
	defer d.close()
	var p pairs
	value := make([]byte, 300)
	for i := range m.Count {
		m.done(i, m.Count)
		if err := p.turn(func() error {
			_, err := s.Update(ctx, func(tx store.Tx) error { return tx.Put("unit/0", value) })
			return errors.Trace(err)
		}, d.write); err != nil {
			return nil, err
		}
	}
	return []Figure{p.figure(Figure{Name: "commit", What: "a commit of the store", Floor: "one durable write to a file"})}, nil
}
