// Package charmdir knows charms as files: unpacked trees and archives, what
// their metadata says, and the charm directory of a unit with its deployment,
// upgrade and recovery.
//
//	tree ──Archive──▶ archive ──(stored in the model)──▶ Deployer ──▶ <unit>/charm
//	  └──Read──▶ model.Charm ◀──Read──┘
//
// A charm says what it is in metadata.yaml, config.yaml and actions.yaml, or
// in a charmcraft.yaml that has it all; then Archive writes the three files
// that the charm reads when it runs. What could escape the charm directory
// (paths, links, devices) is refused in trees and archives alike.
//
// Watch tells when something was saved in a charm's tree.
//
// It does not know what a charm's hooks are for, nor run them. Sources:
// docs/spec/uniter-behaviour.md §8, docs/spec/ops-needs.md §1 and §5.
package charmdir
