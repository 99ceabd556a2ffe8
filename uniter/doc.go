// Package uniter is the agent of one unit: a loop that owns what the agent
// remembers, asks resolver.Next what to do, does it, and journals what became
// of it.
//
//	observe ─▶ resolver.Next ─▶ journal: began ─▶ run the hook ─▶ commit ─▶ …
//	                                   │                             │
//	                                   └── killed here: interrupted  └── killed here: finished
//
// A hook costs two writes to stable storage: the record that it is about to
// run, and the model transaction that has all its writes and the run's stamp.
// That it has committed isn't stored again, because the stamp says so.
//
// What the agent touches of the world are the doors of its Config: functions
// that package machine fills with the model, the hook runner and the charm
// directory, and tests with their own. The order of hooks is uniter/resolver's
// and the disk format uniter/journal's.
package uniter
