// Package pebble is unitd's client of Pebble, the service manager that is the
// first process of each workload container. It speaks Pebble's HTTP API over the
// container's unix socket, and knows only the part of it that unitd needs.
// Pebble itself isn't linked: it is a program of the container.
//
// # The client
//
// A [Client] takes and returns plain values. It keeps no connection between
// calls: whoever listens at the socket now is who answers, also where Pebble was
// started anew, or the socket replaced, a moment ago. Connecting costs some tens
// of microseconds.
//
// No call waits for ever for a Pebble that hangs. Each has the time that
// [Client.Patience] says, beside the time that it asks Pebble itself to take;
// streams (files, logs, the output of commands) have it for each step that
// depends on Pebble alone. What is wrong can be told apart by errors.Is:
//
//   - [ErrNotThere]: there is no socket, or nobody listens at it. This is how a
//     container looks that is starting, or has ended.
//   - [ErrNoAnswer]: somebody listens and doesn't answer in time.
//   - [ErrBroken]: the connection ended in the middle of an answer, as where
//     Pebble is killed.
//   - [ErrGarbage]: what came isn't an answer of Pebble's.
//   - [APIError]: Pebble's own refusal. It matches juju/errors' NotFound,
//     Unauthorized and Forbidden where it means one of them.
//
// # The watcher
//
// [Watch] follows one Pebble through all its restarts and reports a [State]: its
// boot id, and the notices and checks that hooks are to tell the charm of.
//
// Source: docs/spec/containers.md §4.6, §4.7, §4.8.
package pebble
