// Package waitfor is the language of the verb wait-for: queries about one application,
// unit, machine or model, which hold or don't.
//
//	life=="alive" && forEach(units, unit => unit.workload-status == "active")
//
// [Parse] reads a query about things of a [Schema], and finds all that is wrong with it
// before anybody waits: words that there aren't, fields that the thing hasn't got, and
// values that can't be compared; its errors are an [*Error], which knows the place.
// [Query.Look] says whether a query holds for an [Object], and what it has looked at. The
// things of a model are made into objects by [Application], [Unit], [Machine] and [Model].
//
// There are the comparisons == != < <= > >=, && and || (the second is looked at only if
// the first doesn't decide), parentheses, text in either kind of quotes, numbers, true
// and false; fields by a dot, entries by an index, and the functions len, forEach,
// startsWith, endsWith, int and print. Names may have dashes, as "workload-status".
//
// The package is pure, and all of it is safe for use by several goroutines. Source:
// docs/spec/juju-clients.md §7.6.
package waitfor
