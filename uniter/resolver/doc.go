// Package resolver is the mind of a unit's agent: Next says what to do, After
// says what is known once it is done. Both are pure functions of values: no
// clock, file, store or goroutine, and the same inputs always give the same
// result.
//
//	Local  (what the agent remembers, in the journal)   ─┐
//	                                                     ├─▶ Next ──▶ Op
//	Remote (what the model says, and the time)          ─┘            │ done by package uniter
//	Local ◀── After(Local, Op, Event) ◀──────────────────────────────┘
//
// Next never depends on having seen each change: it compares what is with what
// was told. What comes before what stands in one table, Rules. There are no
// error results: waiting, leaving and ending are verbs of an Op, and each Op
// gives its reason in a line.
//
// Source: docs/spec/uniter-behaviour.md §3–§5, seed 004
// (docs/spec/seeds.md); where the order was left
// to chance there, docs/guarantees.md has the order that holds here.
package resolver
