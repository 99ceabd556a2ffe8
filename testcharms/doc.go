// Package testcharms has charms to run: for this project's tests, and for
// whoever wants to see how a charm is written. Each folder is one charm.
//
//	ledger   a database provider: hooks in bash, options, ports, credentials
//	shop     its consumer: statuses, and relation data that may be missing
//	gobin    a charm that is one Go program
//	opsy     a charm written in Python with Ops
//	mint     a charm with Ops that shares a secret, with an action that changes it
//	purse    its consumer, with Ops as well
//	quorum   peers and a leader, all metadata in charmcraft.yaml
//	logger   a subordinate
//	pantry   all that a machine charm may use, with Ops: for an isolated unit
//	bazaar   as many relations, options and actions as large charms have; for isolated units, too
//	noop     the smallest charm: for benchmarks
//	tracer   writes down its hooks, and fails or waits when told to: for tests
//
// Five have workload containers, are written with Ops, and are source trees, as
// their authors have them. Package images makes the images for them.
//
//	webby    a web server in a container, which may have a database
//	noticer  two containers, notices and checks
//	storer   storage in a container, and users other than root; provides a database
//	kuby     patches its application's objects in Kubernetes
//	prober   tries all that Ops offers of Pebble: for tests
//
// The folder planted has bugs for pantry and webby, as patches.
//
// shop.yaml is a bundle that relates shop to ledger.
//
// The folder "tests" of a charm has scripts for "unitd test", as a model for
// those of your own charms. It is deployed with the charm, and no hook of it.
//
// A test takes a charm by Copy, which also builds what isn't kept in the
// repository, such as gobin's program:
//
//	url := deploy(t, testcharms.Copy(t, "tracer"))
//
// None of the charms but pantry and bazaar touches anything outside of its charm directory. What
// they may rely on is the contract of docs/spec/hook-tools.md and
// docs/spec/uniter-behaviour.md, and seed 004's advice
// (docs/spec/seeds.md): settings of a relation may
// be missing at any time, and hooks may be run again.
package testcharms
