// Package check finds out which of the promises in docs/charm-promises.md a charm breaks.
//
//	charm ─▶ Subject ─▶ learn ─▶ World ─▶ probes ─▶ players ─▶ shrink ─▶ Finding, Report
//	         (its text)  (in a    (stubs,  (pure:   (script.Door, many
//	                     world)   values)  scripts)  at once)
//
// What stubs publish in a World is known from recordings, from partner charms, from schemas that
// are read as text, or guessed from the charm's code; learning drops what makes hooks fail.
//
// Everything that is tried is a scenario of package script: steps, and claims that a sound charm
// meets. Probes are made by a pure function from what is known of the charm; a player runs
// them in a world of its own, from the snapshot that is nearest. What fails is made as short
// as it can be, run again, and is ready to be kept as a test.
package check
