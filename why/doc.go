// Package why says in one sentence what holds a unit: what it waits for, since
// when, and what would free it.
//
// Look gathers the facts: what the model says, what the unit's agent remembers
// where its directory is on this machine, and what the resolver makes of both.
// Say makes the sentence of them: it is a table, the first line that applies
// wins, and it reads nothing.
package why
