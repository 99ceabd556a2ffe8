// Package replay remembers what programs have done that talk with others, and says
// what such a program would do again.
//
// A program that is a function of its inputs does the same each time: with the same
// files and the same environment it makes the same first call, and what it does next
// depends on the answer alone. So all its runs are one tree:
//
//	config-get ──▶ {"size":1} ──▶ status-set ──▶ "" ──▶ end: exit 0, changes
//	           └─▶ {"size":2} ──▶ is-leader ──▶ true ──▶ …
//	                                       └──▶ false: not known
//
// Add puts a run into the tree, and finds out if it contradicts another one: then the
// program isn't a function of what is known of its inputs. A Walk makes the calls in the
// program's place, for as long as each answer is one that a program has had before.
//
// What differs between two runs by accident, as where their files are, is hidden behind
// other names; see Names.
//
// It is about values alone: who runs programs, makes calls and changes files is
// elsewhere, in package script/memory.
package replay
