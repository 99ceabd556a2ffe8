// Package hookcontext is what one run of a hook can see and change: reads are
// remembered, so that the same question has the same answer for the whole
// hook; writes are buffered, seen by the hook's own reads, and handed over as
// one model.Changes that is committed if the hook succeeds and dropped if it
// doesn't.
//
//	hook tool ──▶ Context ──first read──▶ View (the model, or a recording)
//	                 │ overlay
//	                 └──Changes()──▶ state.CommitHook, one transaction
//
// What would be refused at the commit is refused at the call, with the tool's
// own error text. The folder is called context, as the field calls it; the
// package is not, so that nobody needs an alias for the standard library's.
//
// Source: docs/architecture.md, "One commit", docs/spec/hook-tools.md §4, seed 004
// (docs/spec/seeds.md).
package hookcontext
