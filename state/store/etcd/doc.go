// Package etcd is the store engine for many hosts: an etcd cluster, in which
// each store has a prefix of its own.
//
// Below the prefix are
//
//	format         which layout this is
//	k/<key>        the keys
//	d/<directory>  written by each transaction that deletes in the directory
//	t/<group>/<n>  which transaction was the last one to draw the number n
//
// A revision is etcd's own: that of the whole cluster. So it also grows by what
// others write, as that of a store does by its other models.
//
//   - Everything within one View, or one attempt of an Update, is read at one
//     revision: that of its first read, which is linearizable. Later reads name
//     the revision, so any member that has it can answer.
//   - An Update is committed by one etcd transaction that first compares what
//     was read: single keys by their revision, listed ranges by having nothing
//     newer in them. A deletion leaves nothing to compare, so it also writes the
//     mark of its directory, and who lists compares the marks as well. What is
//     compared is thrown together until it fits etcd's limit of 128; then a
//     transaction may be tried again for nothing, but none is let through.
//   - Where the answer to a commit is lost, whether it was made isn't guessed:
//     each writes a number that it drew to a key of t/, which tells. It is
//     written over first, so that the commit can't be made afterwards.
//   - Leases are etcd's: their time is measured by the cluster alone. It counts
//     whole seconds; what isn't one is rounded up.
//   - A watch goes on where it was after the connection was lost. Where that is
//     compacted, it tells so by a Resync.
//   - The committer of each thousandth revision lets the cluster forget what is
//     older than keepRevisions, if it may.
//
// etcd takes at most 128 operations and 1.5 MiB in a request; store.MaxWrites
// and store.MaxBytes leave room for the marks and comparisons.
package etcd
