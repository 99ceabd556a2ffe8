// Package bench measures on the user's own machine what docs/performance.md
// publishes: what a hook tool call, a hook, a crowd of units, a unit among many
// peers, and a commit cost. Each is measured beside what it can't be done without,
// its floor, in the same run and by turns, so the ratio of both says something on a
// machine that has other work to do as well.
//
//	report, err := bench.Run(ctx, bench.Options{Units: 100, Count: 200, Rounds: 3, …})
//
// What is measured is the agent as people have it, in a process of its own, which
// [Serve] is: it tells of each hook run, and what processor time it has used so far,
// without that of its children. The models, charms and all files are in a directory
// of temporary files that is gone when [Run] returns.
//
//	Run ──orders──▶ Serve: machine.Run ──▶ hooks
//	 │  ◀──runs────   │
//	 └──transactions──┴──▶ store
//
// Nothing here prints: package render makes the table.
package bench
