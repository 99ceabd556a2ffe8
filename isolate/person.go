package isolate

import (
	"strconv"
	"strings"
)

// Person is whom a cell's programs run as, by the cell's own numbers. The zero value
// is root.
type Person struct {
	UID int `json:"uid,omitempty"`
	GID int `json:"gid,omitempty"`
	// Groups are those that it has besides.
	Groups []int `json:"groups,omitempty"`
	// Home is where it is at home; empty is /root.
	Home string `json:"home,omitempty"`
}

// Account is a user who is known by name in a cell.
type Account struct {
	// Name is also that of the group.
	Name     string
	UID, GID int
	Home     string
	// Sudo: sudo lets it become root, without a password.
	Sudo bool
}

// String is the person as an argument of EnterCommand: "170:170:170,4"; empty:
// root, and nothing besides.
func (p Person) String() string {
	if p.UID == 0 && p.GID == 0 && len(p.Groups) == 0 {
		return ""
	}
	var groups []string
	for _, g := range p.Groups {
		groups = append(groups, strconv.Itoa(g))
	}
	return strconv.Itoa(p.UID) + ":" + strconv.Itoa(p.GID) + ":" + strings.Join(groups, ",")
}
