// Package render makes of what there is in a model what people and programs read:
// the tables, trees and summaries of status, history and tasks, lines of logs, and
// the shapes of JSON and YAML. Values go in, text comes out: nothing here reads a
// store, a clock or a file, or prints. So each is tested by a table, and whoever
// shows a model, a command or a page, shows the same.
//
// What there is to show is read by [github.com/unitd/unitd/state]; how it looks is
// docs/spec/cli-juju.md §2.
package render
