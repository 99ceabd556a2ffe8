package opsstate

import (
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Digest is the same for contents of File that mean the same to a charm: they have the same
// values and the same deferred events. SQLite's own bookkeeping is left out, and where no
// event is deferred so is the number of events that there have been. NotValid: it is no such
// file, or one with tables of others.
func Digest(content []byte) (string, error) {
	var sum string
	err := with(content, func(db *sql.DB) (err error) {
		sum, err = digest(db)
		return err
	})
	return sum, err
}

// The tables that Ops has, each with a question for its content.
var tables = []struct{ name, query string }{
	{"notice", "SELECT event_path, observer_path || '.' || method_name FROM notice ORDER BY sequence"},
	{"snapshot", "SELECT handle, data FROM snapshot ORDER BY handle"},
}

func digest(db *sql.DB) (string, error) {
	var names string
	row := db.QueryRow("SELECT coalesce(group_concat(name), '') FROM (SELECT name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY name)")
	if err := row.Scan(&names); err != nil {
		return "", errors.Trace(err)
	}
	if names != "notice,snapshot" {
		return "", errors.Errorf("it has the tables %s", names)
	}
	sum, rows := sha256.New(), 0
	for _, table := range tables {
		all, err := read(db, table.query)
		if err != nil {
			return "", errors.Trace(err)
		}
		for _, r := range all {
			if table.name == "snapshot" && rows == 0 {
				r[1] = uncounted(r[0], r[1])
			}
			fmt.Fprintf(sum, "%s %q %q\n", table.name, r[0], r[1])
		}
		if table.name == "notice" {
			rows = len(all)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func read(db *sql.DB, query string) (all [][2]string, err error) {
	rows, err := db.Query(query)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer rows.Close()
	for rows.Next() {
		var name string
		var value []byte
		if err := rows.Scan(&name, &value); err != nil {
			return nil, errors.Trace(err)
		}
		all = append(all, [2]string{name, string(value)})
	}
	return all, errors.Trace(rows.Err())
}

// eventCount is what Ops keeps of itself, as Python's pickle writes it: {"event_count": N}. The
// number tells deferred events apart.
var eventCount = pattern.New(`(?s)^\x80.{1,12}\}\x94\x8c\x0bevent_count\x94(K.|M..|J....)s\.$`)

// uncounted is a value of Ops without the number of events.
func uncounted(handle, value string) string {
	if handle == "StoredStateData[_stored]" && eventCount.MatchString(latin(value)) {
		return "event_count"
	}
	return value
}

// latin has a character for each byte.
func latin(bytes string) string {
	var b strings.Builder
	for i := range len(bytes) {
		b.WriteRune(rune(bytes[i]))
	}
	return b.String()
}
