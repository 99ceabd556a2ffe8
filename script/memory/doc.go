// Package memory runs the programs of hooks for the worlds of one exploration, or does
// what they would do, as it is known from other worlds.
//
//	agent ──Program──▶ Memory.Around ──▶ known?   ──no──▶ it runs, and is remembered
//	                      │                 └─yes─▶ chosen as a sample? ──yes──▶ it runs, and is compared
//	                      │                                   └─no─▶ its calls are made, its changes applied
//	                      ▼
//	     a directory, which the agents of all worlds have
//
// What a hook starts with is its charm, its environment, and the files of its unit's charm
// directory. What else it reads comes by hook tools. So the same start, and the same
// answers, have the same calls, changes and end; package replay has that as values. The
// calls are made for real: what a hook writes, and what is said of it in history, log and
// recording, comes about as ever.
//
// If an answer is none that is known, the program is run after all. Its first calls are
// those that were made already, so it hears what was answered then, and goes on from there.
//
// Not all hooks are functions of that. Some of them are found out: one that is run as a
// sample and does something else isn't replayed any more, nor is one that leaves processes
// behind, waits for long, or makes calls side by side.
package memory
