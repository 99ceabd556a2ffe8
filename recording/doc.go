// Package recording keeps hook runs, and plays them back to a charm elsewhere,
// without model, agent or network.
//
//	tools.Server ──each call──▶ Recorder ──▶ Recording ──Keeper──▶ RUN.json, whole, for its owner alone
//	                                            │
//	            Format ◀── Redact ◀─────────────┘
//	              │ one txtar file, without secrets
//	            Parse ──▶ Player ◀──hook tools' socket── the charm's hook
//	                        └──▶ Differences
//
// A recording has what the hook saw of the world: its environment, and for each
// hook tool call the arguments, what was read, and the answer. It sits behind
// the socket of the hook tools, so it works for charms in any language.
//
// What the hook asked of the Pebbles of workload containers is recorded where the
// application wants it. A tap (package recording/tap) is then in front of each Pebble's
// socket for the time of the hook, and a Conversation reads along what it carries:
//
//	charm ──▶ tap ══▶ Pebble          charm's hook ──▶ StandIn ◀── Player
//	           └─▶ Conversation ──▶ Recorder ──▶ Recording
//
// A request is kept as what it says, and not as bytes: a body in parts has its parts,
// and a command that Pebble runs is one request with its streams, whatever the
// websockets were that have carried them. So it can be compared, read and redacted. In
// a replay a StandIn speaks HTTP and websockets again. Contents that are too large are
// kept as a digest.
//
// What it doesn't have: files that earlier hooks have made in the charm
// directory, but for .unit-state.db, where Ops keeps its stored state; and what
// the hook saw by other ways than hook tools, such as the time.
package recording
