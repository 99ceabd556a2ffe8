// Package state is the model: its entities as documents in a store, and the
// rules by which they are made, related, changed, and taken away, each as one
// transaction of plain Go: read documents, decide, write documents.
//
//	rev, err := m.update(ctx, func(tx *txn) error {
//		app, err := tx.application(name)   // read
//		...                                // decide, as the seed's sentence says
//		return tx.put(app)                 // write
//	})
//
// No life ever goes back. Applications and relations are never seen Dead: the
// transaction that takes the last reference to one away removes it. Reference
// counts live in the documents, so a rule never has to count; what may be much
// (settings of a removed relation, histories) is left to the cleanup queue.
//
// It knows nothing of hooks, charm directories or agents, and nothing of
// which engine its store is. Sources: seeds 000 to 002 (lifecycles;
// docs/spec/seeds.md),
// docs/spec/uniter-behaviour.md §5 and §9, docs/spec/cli-juju.md §2 and §6.
package state
