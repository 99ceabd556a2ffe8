package model

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// Loopback is the address of what is published if nothing else is said: nobody but
// this host reaches it.
const Loopback = "127.0.0.1"

// Publication is a port of a host by which the units of an application are reached.
// The zero value is not valid.
type Publication struct {
	// Address is the IPv4 address of the host that is listened on; "0.0.0.0" stands
	// for all.
	Address string `json:"address"`
	// HostPort is the port of the host, and Port that of the units.
	HostPort int `json:"host-port"`
	Port     int `json:"port"`
}

// ParsePublication reads [ADDRESS:]HOSTPORT[:PORT]. Without an address it is
// Loopback, without a second port the same as the first. Errors are NotValid.
func ParsePublication(s string) (Publication, error) {
	bad := func(why string) (Publication, error) {
		return Publication{}, errors.NewNotValid(nil, fmt.Sprintf("cannot publish %q: %s; it is [ADDRESS:]HOSTPORT[:PORT]", s, why))
	}
	words := strings.Split(s, ":")
	p := Publication{Address: Loopback}
	if strings.Contains(words[0], ".") {
		p.Address, words = words[0], words[1:]
		if !validIPv4(p.Address) {
			return bad(fmt.Sprintf("%q is no IPv4 address", p.Address))
		}
	}
	if len(words) < 1 || len(words) > 2 {
		return bad("that is not one port, or two")
	}
	for i, to := range []*int{&p.HostPort, &p.Port} {
		word := words[min(i, len(words)-1)]
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != word {
			return bad(fmt.Sprintf("%q is no port", word))
		}
		*to = n
	}
	return p, nil
}

// validIPv4 says whether s is an IPv4 address in its usual form.
func validIPv4(s string) bool {
	words := strings.Split(s, ".")
	for _, w := range words {
		if n, err := strconv.Atoi(w); err != nil || n < 0 || n > 255 || strconv.Itoa(n) != w {
			return false
		}
	}
	return len(words) == 4
}

// Listen is what is listened on: "127.0.0.1:8080".
func (p Publication) Listen() string { return p.Address + ":" + strconv.Itoa(p.HostPort) }

// String is what ParsePublication reads, in full.
func (p Publication) String() string { return p.Listen() + ":" + strconv.Itoa(p.Port) }

// Conflicts says whether only one of them can be listened on.
func (p Publication) Conflicts(q Publication) bool {
	const all = "0.0.0.0"
	return p.HostPort == q.HostPort && (p.Address == q.Address || p.Address == all || q.Address == all)
}
