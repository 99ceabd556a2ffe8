// Package scale simulates the agents of large models, to find out what a model
// costs its store as it grows, and where the first limit lies. The figures are
// in docs/scale.md.
//
// What is decided and what is written is real: each unit decides by package
// resolver, on what package machine makes of the model's documents, and each of
// its operations is the transaction of package state that an agent would make.
// Simulated are time, which a heap of what is to happen next moves on; hooks,
// which take some of it and commit what a charm typically writes; and the disks
// of agents, which nothing is written to, as no agent is killed.
//
//	figures, err := scale.Run(ctx, scale.Shape{Units: 10_000, Machines: 1_000, Applications: 200})
//
// The same Shape gives the same figures.
package scale
