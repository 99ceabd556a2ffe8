// Package served is the engine for people who may not open the store's file: an agent that has
// the store serves it at a Unix socket (Server), and lets each caller do what the rights of that
// one's user on this host allow, as the kernel says who calls. Store is the other end, which is a
// store.Store like any other: programs can't tell it from the file itself.
//
// Both ends exchange frames: a length of four bytes, the highest first, and JSON. The server
// begins with a hello, which says which protocol it speaks and which format the store has; a
// client of another one ends there. Then the client asks, and the server answers each question
// with one reply, a page of keys with as many as it takes:
//
//	view      a view begins
//	get       a key, of the view that is open
//	page      keys, of the view that is open, in pieces
//	end       the view ends; the answer comes once all that it has shown is durable
//	commit    the view ends, and what a transaction writes is committed
//	watch     the connection is for the watch's batches from then on
//	grant, keep, revoke, compact
//	keys      with which the values of secrets are sealed; not for those who only read
//	agent     a question to the agent of a machine, which the server asks for who may not write
//	settled   the same question to all agents: when is all settled
//
// An Update is committed in one transaction of the server's, which first does each read again.
// If one of them has another result, nothing is written, and the client begins anew. So nobody
// who calls holds the store's lock, however long he thinks.
//
// Nobody who calls is trusted. What he asks for is compared with his rights, question by
// question. Frames, connections, and the time that a view may take have bounds.
package served
