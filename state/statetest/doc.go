// Package statetest is what the model's rules must prove on each store engine.
//
//	func TestLifecycles(t *testing.T) {
//		statetest.Lifecycles(t, func(t testing.TB) store.Store { … an empty store … })
//	}
//
// Lifecycles has several clients do random operations of seeds 000 to 002
// (docs/spec/seeds.md) at once,
// cut into their transactions and dealt like cards. What comes of them has to be
// what comes of the same operations one after the other, in some order, in a
// reference that is a few maps; and no document may contradict another after any
// transaction. Problems is that last check, for other tests.
package statetest
