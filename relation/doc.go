// Package relation says what a unit has been told of each of its relations,
// and which relation hook it is owed next. It is pure.
//
//	State (what the unit was told) ─┐
//	                                ├─▶ Next ──▶ hooks.Info ──(committed)──▶ After ──▶ State
//	Snapshot (what the model says) ─┘
//
// Per relation the order is: created, then for each remote unit joined and its
// changed, changed again whenever settings move, departed once, broken last
// and only with no members. The State knows what may follow (Validate);
// keeping it on disk is uniter/journal's business, and which relation goes
// first is uniter/resolver's.
//
// Source: seed 004 ("relation hooks", "departing relations";
// docs/spec/seeds.md),
// docs/spec/uniter-behaviour.md §5.
package relation
