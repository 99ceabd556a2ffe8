// Package script runs scenarios: sessions of what a person types, with claims
// about what comes of it, each in a world of its own. A world has a private
// model, a real agent in a process of its own, and a clock that moves only when
// the script says so.
//
//	deploy ./ledger
//	deploy ./shop
//	integrate shop ledger
//	settle
//	hooks shop/0 install db-relation-created leader-elected config-changed start db-relation-joined(ledger/0) db-relation-changed(ledger/0)
//	relation-data shop/0 db ledger/0
//	stdout '^password: .+'
//
//	-- ledger/metadata.yaml --
//	…
//
// The form is that of github.com/rogpeppe/go-internal/testscript: a txtar
// archive of a script and its files, with that package's own commands, "!" for
// what is to fail, and conditions. Commands lists what there is beside those.
// Files that begin with "#!" are made executable. $SCRIPT_DIR is the directory
// that the script is in, so that a charm beside it can be deployed.
//
// A snapshot keeps a world as it is, and restore goes back to it, so that one
// set-up serves many branches:
//
//	snapshot related
//	config shop port=0
//	! settle
//	restore related
//	remove-unit ledger/0
//	settle
//	diff
//
// It has the model, the units' directories, journals, histories and logs, the
// time, and the faults that are still to happen; not the script's own files.
// Both end the processes that hooks have left running (Linux).
//
// "unitd test" runs scripts from the command line, Run from a Go test.
package script
