// Package sqlite is the store engine for one host: a single file, no set-up,
// shared by any number of processes.
//
//   - Every Update runs in one BEGIN IMMEDIATE transaction, so writers of all
//     processes take turns and an Update never has to be tried again.
//   - Durable commits cost one fsync, of the write-ahead log; Relaxed ones cost
//     none. Both go through the same log, so their order is the same for
//     everybody, also after a power cut.
//   - A table of changes (revision, key) is what watches read. It is kept to
//     about keepRevisions; a watcher that is further behind gets a Resync.
//   - Another process learns of a commit through a file beside the database,
//     "<path>-rev", that each committer writes to once its commit is visible.
//     A process that is killed between the two is made up for by the next
//     commit, or by a look at the revision every few seconds.
//   - On a full disk commits are store.ErrFull, once the store's reserve of room,
//     if somebody has made it, is used up; see Reserve.
package sqlite
