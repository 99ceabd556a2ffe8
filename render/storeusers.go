package render

import (
	"cmp"

	"github.com/unitd/unitd/state"
)

// StoreUsersTable shows people who may use a store, and as what.
func StoreUsersTable(users []state.StoreUser) string {
	if len(users) == 0 {
		return "No users.\n"
	}
	rows := [][]Cell{Heads("User", "Role", "Model")}
	for _, u := range users {
		rows = append(rows, []Cell{{Text: u.Name}, {Text: string(u.Role)}, {Text: cmp.Or(u.Model, "all")}})
	}
	t := &Table{}
	t.Block(rows)
	return t.String()
}
