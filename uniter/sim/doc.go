// Package sim plays the agent of one unit in a world small enough to try out
// everything that can happen in it.
//
//	actors (relations, operator…) ──▶ World.Model ──look──▶ resolver.Next ─▶ Op
//	                                      ▲                                  │
//	   Monitor ◀── each hook run ─────────┴───── World.Do ◀── fails? killed? ┘
//
// World is a model and an agent as one value, moved by the very Next and After
// that the real agent uses. Explore goes breadth first through every order of
// the actors' steps × when the agent looks × which hook fails × where the agent
// is killed or stopped × how the operator answers. At each step it asks the
// Monitor, which knows the guarantees on the order of hooks and nothing of the
// resolver, and at the end it asks whether the agent comes to rest from every
// state, with the charm told of all that is. A Monitor can be fed with the
// hooks of a real agent just as well.
//
// What it doesn't show: torn files, the model's transactions, processes. Keep
// worlds small and many, for states multiply.
//
// The guarantees are those of seed 004 ("hooks"; docs/spec/seeds.md) and
// docs/spec/uniter-behaviour.md.
package sim
