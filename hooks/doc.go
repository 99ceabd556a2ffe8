// Package hooks says which kinds of hook there are, what one run of a hook is
// about, and which environment it gets. It is pure: running a program is the
// business of hooks/runner.
//
// A hook kind is a row in the table in kinds.go; code, documents and tests
// read the same rows. Source: docs/spec/uniter-behaviour.md §1 and §2, seed 004
// (docs/spec/seeds.md).
package hooks
