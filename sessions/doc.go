// Package sessions leads the terminal of a person to a program that the agent of another host
// runs for them: docs/machines.md, "Sessions on other hosts".
//
// Both ends know each other by nothing but a key that each makes for itself. What the one
// knows of the other, the [Print] of its certificate, goes through the model's store, which
// only those can write to who may run commands on the hosts of that model anyway:
//
//	person's command                                        agent
//	  NewIdentity
//	  ── question in the store: its Print ───────────────────▶  Server.Expect
//	  ◀─────── answer in the store: addresses, the agent's Print ──
//	  ── TLS to an address; each checks the other's Print ───▶
//	  ── request: verb, target, words, terminal ─────────────▶  Server.Start
//	  ◀═══════ input, output, size, signals, exit code ══════▶  the program
//
// The agent expects a print once and for a short time, and for the model alone in which the
// question was asked. Whoever only reads the store learns nothing to connect with.
//
// The connection is one of the agent's listener (package telemetry), which hands it over by its
// application protocol, [Protocol].
package sessions
