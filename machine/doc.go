// Package machine hosts the units of a machine: one process runs the agents of
// all of them, deploys new units, and takes away those that are Dead.
//
// It is the one place that knows both ends. It turns the model's documents
// into what the resolver reads (observe.go) and fills the doors of each unit's
// agent (unit.go): the hook runner, the hook tools' socket, the charm
// directory, the model.
//
//	store ──watch──▶ Run: which models ──▶ modelAgent: which units ──poke──▶ unit agents
//
// Nothing here decides which hook runs. A poke carries no content: whoever is
// poked looks again at what is. Sources: seed 000 ("Agents";
// docs/spec/seeds.md),
// docs/spec/uniter-behaviour.md.
package machine
