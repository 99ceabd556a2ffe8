// Package storetest is what a store engine must prove before unitd trusts it:
// the sentences of package store, each as a test that any engine can run.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { … an empty store … })
//	}
//
// Run looks at one handle, RunPair at two handles on the same data, which is
// how two processes see each other, and Bench measures what a unit agent does
// most. Nothing here knows an engine or its clock: leases are waited for in
// real time. What is an engine's own (files, locks, being killed) belongs into
// its own tests.
package storetest
