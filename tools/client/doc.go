// Package client is the hook tools' end of the socket: it sends its arguments
// to the agent and does as the reply says. It knows nothing of the tools but
// that "--file -" means standard input; the agent parses flags, reads and
// writes files, and words the errors.
//
// A charm's hook calls tools by the dozen and nearly all of a call is the
// start of this process, so the package is standard library only, without
// net, fmt and encoders.
//
// Source: docs/spec/hook-tools.md §1, docs/spec/latency-measured.md §6.
package client
