package main_test

import (
	"bytes"
	"database/sql"
	"math/rand/v2"
	"os"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdDamage is "damage FILE OLD NEW": wherever a text is in a file, there is
// another one of the same length then, as on a disk that has lost something.
// "damage FILE" makes noise of all but its first two pages of 4 KiB.
func cmdDamage(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 && (len(args) != 3 || len(args[1]) != len(args[2])) {
		ts.Fatalf("usage: damage FILE [OLD NEW]")
	}
	path := ts.MkAbs(args[0])
	b, err := os.ReadFile(path)
	ts.Check(err)
	if len(args) == 3 {
		if !bytes.Contains(b, []byte(args[1])) {
			ts.Fatalf("%s has no %q", args[0], args[1])
		}
		b = bytes.ReplaceAll(b, []byte(args[1]), []byte(args[2]))
	} else {
		_, err := rand.NewChaCha8([32]byte{}).Read(b[8192:])
		ts.Check(err)
	}
	ts.Check(os.WriteFile(path, b, 0o600))
}

// cmdSQL is "sql FILE STATEMENT": it changes a database of SQLite behind the back of
// whoever has it.
func cmdSQL(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: sql FILE STATEMENT")
	}
	db, err := sql.Open("sqlite", ts.MkAbs(args[0]))
	ts.Check(err)
	defer db.Close()
	_, err = db.Exec(args[1])
	ts.Check(err)
}
