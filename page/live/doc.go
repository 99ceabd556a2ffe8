// Package live keeps the page of a model up to date, and serves it.
//
// A [View] looks at the model after each commit, and asks the agent of this host what it
// is at, which the store doesn't have of short hooks. It reads the histories and the log
// as they grow. Each browser gets all parts of the page first, and then what changes, as
// server-sent events. One that is slow gets several changes as one. While nobody looks,
// the view doesn't either.
//
// [Handler] serves a view to who has its token, on loopback: other users of the host
// can reach the port, and pages of other sites can have the browser ask for it. So each
// request needs the token, as a cookie that only this page's requests carry, names a host
// of loopback, and, where it changes something, comes from this page.
package live
