// Package charmhub is a client of Charmhub's public HTTP API: it tells which release of a
// charm or bundle a channel has, or a revision is, shows and finds charms, and fetches
// them and their resources, each verified by its hash and its size.
//
// What was fetched stays in a Cache, by its hash, with the last answers of the hub, so
// that what was had once can be had when the hub can't be reached. A directory can stand
// for a hub, see package charmhub/folder.
//
// Nothing here knows of models: package deploy brings releases into them.
//
// Source: docs/spec/juju-clients.md §12.
package charmhub
