// Package live keeps the page of a model up to date, and serves it.
//
// A [View] looks at the model after each commit, and asks the agent of this host what it
// is at, which the store doesn't have of short hooks. It reads the histories and the log
// as they grow. Each browser gets all parts of the page first, and then what changes, as
// server-sent events. One that is slow gets several changes as one. While nobody looks,
// the view doesn't either.
//
// [Server] serves a view to who has its token, on loopback: other users of the host can
// reach the port, and pages of other sites can have the browser ask for it. So each request
// for what has a secret in it needs the token in a header, which only this page's requests
// have: a cookie would go to other ports of the host too. Each request names a host of
// loopback, and one that changes something comes from this page.
package live
