// Package backup writes all that a data directory and its store have to one file, while
// agents run, and makes a data directory and a store of such a file.
//
//	journals ─▶ store at one revision ─▶ journals again ─▶ units' files, logs ─▶ FILE
//	FILE ─▶ verified to its end ─▶ staged, and the store filled ─▶ moved into place
//
// # What fits together
//
// Agents go on while a backup is taken, so the moments at which things are read
// decide whether they fit. The store's revision is the moment of the whole backup:
//
//   - Journals are read before that moment, and again just after it. The one that is kept is
//     a record that was durable at that moment (journal.At). So store and journal
//     are what an agent finds that was killed then: a run with a stamp has
//     committed and doesn't run again, and one that had begun without it was
//     interrupted. A journal that was only read before may lack runs that have committed: the
//     agent would take its disk for lost. One that was only read after may know of commits
//     that the store doesn't have: what they wrote would be lost, and nobody would run them again.
//   - What hooks make in their charm directories is read after that moment. So it has all that
//     runs have made that count as committed, and perhaps what later ones have; these run
//     again, as after a kill. Of a unit that rests it is exactly what was there.
//   - A charm directory goes with a journal that says the same charm. Else it isn't kept, and the charm is
//     deployed again: an agent that finds another charm than its journal says takes a
//     run that is pending for one that has committed (resolver.Resume).
//   - The history has the runs that the journal knows to have ended, and no later ones.
//
// Source: docs/architecture.md, "The journal and the stamp"; docs/guarantees.md, "When
// the agent is killed".
//
// # The file
//
// A line says that it is a backup, and of which version. All else is encrypted with
// age, for a passphrase or for recipients: the store, charms' directories and logs have secrets, and so
// has what is sealed, since the keys are in the file too. Inside is a
// tar archive, compressed with zstd: first what the backup is, then the store, then files,
// and last a digest of all that.
package backup
