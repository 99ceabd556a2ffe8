// Gobin is a charm that is one Go program: built as "dispatch", the agent runs
// it for each hook and action, and JUJU_DISPATCH_PATH says which one is meant.
// It needs nothing but the standard library, and no files of its own.
//
// The program is new for each hook and remembers nothing, so its handlers look
// at how things are now rather than at what has happened.
package main

import (
	"fmt"
	"os"
)

func main() {
	if err := dispatch(os.Getenv("JUJU_DISPATCH_PATH")); err != nil {
		// What goes to standard error is in the unit's log, and the exit code
		// makes the hook fail: nothing that it has set is kept.
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// dispatch handles an event, such as "hooks/install" or "actions/greet". An
// event that isn't known is nothing to fail for: agents may have new ones.
func dispatch(event string) error {
	switch event {
	case "hooks/install":
		return run("status-set", "maintenance", "getting ready")
	case "hooks/start":
		if err := run("application-version-set", "1.0"); err != nil {
			return err
		}
		return report()
	case "hooks/config-changed", "hooks/upgrade-charm", "hooks/update-status",
		"hooks/db-relation-created", "hooks/db-relation-joined", "hooks/db-relation-changed",
		"hooks/db-relation-departed", "hooks/db-relation-broken":
		return report()
	case "actions/greet":
		return greet()
	}
	return nil
}

// report sets the unit's status by what is so now.
func report() error {
	greeting, err := config("greeting")
	if err != nil {
		return err
	}
	if greeting == "" {
		return run("status-set", "blocked", "greeting is empty: set it to a word")
	}
	unit, err := database()
	switch {
	case err != nil:
		return err
	case unit == "":
		return run("status-set", "active", "ready, without a database")
	}
	return run("status-set", "active", "ready, with the database of "+unit)
}

// database returns the first unit that has published where its database is;
// empty if there is none.
func database() (unit string, err error) {
	var ids []string
	if err := get(&ids, "relation-ids", "db"); err != nil {
		return "", err
	}
	for _, id := range ids {
		// The relation that is being broken may still be listed.
		if os.Getenv("JUJU_HOOK_NAME") == "db-relation-broken" && id == os.Getenv("JUJU_RELATION_ID") {
			continue
		}
		var units []string
		if err := get(&units, "relation-list", "-r", id); err != nil {
			return "", err
		}
		for _, unit := range units {
			var settings map[string]string
			if err := get(&settings, "relation-get", "-r", id, "-", unit); err != nil {
				return "", err
			}
			// Any setting may be missing, at any time.
			if settings["host"] != "" && settings["user"] != "" && settings["password"] != "" {
				return unit, nil
			}
		}
	}
	return "", nil
}

// greet carries out the action.
func greet() error {
	greeting, err := config("greeting")
	if err != nil {
		return err
	}
	var name string
	if err := get(&name, "action-get", "name"); err != nil {
		return err
	}
	if greeting == "" {
		return run("action-fail", "no greeting is configured")
	}
	return run("action-set", "text="+greeting+", "+name+"!")
}

// config returns an option's value, which is empty if it has none.
func config(option string) (value string, err error) {
	var v *string // null where there is no value
	if err := get(&v, "config-get", option); err != nil {
		return "", err
	}
	if v == nil {
		return "", nil
	}
	return *v, nil
}
