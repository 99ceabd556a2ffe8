// Package footprint finds out which files a hook has made, changed or removed.
//
//	Tracker.Begin ──Look──▶ Sight ─┐
//	   the hook runs               ├─ Between ──▶ Changes ──▶ Found, for the run's recording
//	Tracker.End ────Look──▶ Sight ─┘
//
// A Look is one walk over directories that asks the kernel about each file and reads none.
// The sight after a run is the one before the next run, so each hook costs one walk. What
// has changed between the two runs isn't the hook's: the kernel's times of change tell.
//
// Of an isolated unit's machine only the overlay's upper layer is walked: it has what the
// unit has changed, and removed files as devices without a number. The layer below is never
// looked at: it is the host's, most often, and the unit chooses the paths. So a file that the
// unit changes for the first time is new there.
//
// A walk is bounded, by Limits: who has more files than that has none recorded, and is told
// so. Contents are kept of small text files alone, and only where the Tracker is to tell
// differences.
//
// It can't tell a hook's files from those that somebody else writes while the hook runs, such
// as a service that the charm has started. Nothing here follows links that a unit has made.
package footprint
