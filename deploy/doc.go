// Package deploy brings charms into a model, for whichever verb does so: it reads a
// charm and says whether it can run here, makes what a source tree lacks, packs and
// stores it, fixes which images its containers have, stores files for its resources,
// chooses how its units are isolated and on which base they are, and says what they
// will lack. The rules of the model are package state's: what is deployed is checked
// there.
//
// Source: docs/spec/cli-juju.md §1, docs/spec/juju-clients.md §10.2,
// docs/spec/containers.md §1 and §7.
package deploy
