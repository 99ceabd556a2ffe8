// Package debugger is what a unit's agent and a person who debugs its hooks
// say to each other.
//
// The person's command listens on a socket in the unit's directory. Before the
// agent starts the executable of a hook it looks whether somebody listens
// there; that nobody does costs it one look at the directory. It then offers
// the run: environment, directory, executable. Who wants the hook says so, runs
// what the person wants in its place, and answers with the exit code.
//
//	agent                               the person's command
//	  ── Offer ────────────────────────▶  is it one of the hooks wanted?
//	  ◀───────────────────── Answer{Take} ──
//	                                      a shell, a debugger, …
//	  ◀───────────────────── Answer{Exit} ──
//
// Each is one line of JSON. Who goes away closes the connection: if the person
// does, the run has failed; if the agent does, what runs is to be ended.
//
// The socket is for its owner alone, as the directory is: an offer has the
// context id by which hook tools are called.
package debugger
