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
// What it doesn't have: files that earlier hooks have made in the charm
// directory, but for .unit-state.db, where Ops keeps its stored state; and what
// the hook saw by other ways than hook tools, such as the time.
package recording
