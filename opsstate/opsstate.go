// Package opsstate reads what charms written with Ops have put off: the events that they
// have deferred, which Ops gives them again before the next one. Ops keeps them in an SQLite
// file in the charm's directory or, where the charm wants that, in the unit's state in the
// model. Source: docs/spec/ops-needs.md §5.
package opsstate

import (
	"database/sql"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
	_ "modernc.org/sqlite" // the driver
)

// File is the name of the file in the charm's directory.
const File = ".unit-state.db"

// key is where Ops keeps them in the unit's state.
const key = "#notices#"

// Event is a deferred event: its name, as "config_changed", and what it is given to, as
// "ShopCharm._on_config_changed".
type Event struct{ Name, Observer string }

// Stored are the events in the content of File, the oldest first. NotValid: it is no such
// file, or Ops was writing it.
func Stored(content []byte) ([]Event, error) {
	var events []Event
	err := with(content, func(db *sql.DB) (err error) {
		events, err = notices(db)
		return err
	})
	return events, err
}

// with opens the content of File for a function.
func with(content []byte, f func(*sql.DB) error) error {
	// SQLite reads files. It gets one of its own, so that it neither holds the charm up nor
	// is led elsewhere.
	dir, err := os.MkdirTemp("", "unitd-opsstate-")
	if err != nil {
		return errors.Trace(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "state.db")
	if err := os.WriteFile(path, content, 0o600); err != nil {
		return errors.Trace(err)
	}
	db, err := sql.Open("sqlite", (&url.URL{Scheme: "file", Opaque: path, RawQuery: "mode=ro&immutable=1"}).String())
	if err != nil {
		return errors.Trace(err)
	}
	defer db.Close()
	if err := f(db); err != nil {
		return errors.NewNotValid(err, "cannot read the stored state of Ops")
	}
	return nil
}

func notices(db *sql.DB) ([]Event, error) {
	rows, err := db.Query("SELECT event_path, observer_path, method_name FROM notice ORDER BY sequence")
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer rows.Close()
	var events []Event
	for rows.Next() {
		var event, observer, method string
		if err := rows.Scan(&event, &observer, &method); err != nil {
			return nil, errors.Trace(err)
		}
		events = append(events, eventOf(event, observer, method))
	}
	return events, errors.Trace(rows.Err())
}

// InModel are the events in what a unit keeps by state-set. NotValid: Ops hasn't written it.
func InModel(state map[string]string) ([]Event, error) {
	text, ok := state[key]
	if !ok {
		return nil, nil
	}
	var all [][]string
	if err := yaml.Unmarshal([]byte(text), &all); err != nil {
		return nil, errors.NewNotValid(err, "cannot read the deferred events in the unit's state")
	}
	var events []Event
	for _, n := range all {
		if len(n) != 3 {
			return nil, errors.NotValidf("deferred event %q", n)
		}
		events = append(events, eventOf(n[0], n[1], n[2]))
	}
	return events, nil
}

// eventOf is a notice, whose event is named as "ShopCharm/on/config_changed[12]".
func eventOf(event, observer, method string) Event {
	name := event[strings.LastIndexByte(event, '/')+1:]
	name, _, _ = strings.Cut(name, "[")
	return Event{Name: name, Observer: observer + "." + method}
}
