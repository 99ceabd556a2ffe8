package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// PortRange is a range of ports of one protocol, both ends included; for icmp
// both are zero. The zero value is not a range.
type PortRange struct {
	From     int    `json:"from"`
	To       int    `json:"to"`
	Protocol string `json:"protocol"`
}

// ParsePortRange reads "80", "80/tcp", "8000-8100/udp" or "icmp", in any case;
// the protocol is tcp where none is given. Errors are NotValid and have the
// texts of docs/spec/hook-tools.md §7.2.
func ParsePortRange(s string) (PortRange, error) {
	s = strings.ToLower(s)
	if s == "icmp" {
		return PortRange{Protocol: "icmp"}, nil
	}
	ports, proto, found := strings.Cut(s, "/")
	if !found {
		proto = "tcp"
	}
	// The original reads "icmp/ANYTHING" as icmp (recorded run 174).
	if ports == "icmp" {
		return PortRange{Protocol: "icmp"}, nil
	}
	if strings.Count(ports, "-") > 1 {
		return PortRange{}, invalid("invalid port range %q", ports)
	}
	from, to, isRange := strings.Cut(ports, "-")
	low, err := parsePort(from)
	if err != nil {
		return PortRange{}, err
	}
	high := low
	if isRange {
		if high, err = parsePort(to); err != nil {
			return PortRange{}, err
		}
	}
	p := PortRange{From: low, To: high, Protocol: proto}
	return p, p.Validate()
}

func parsePort(s string) (int, error) {
	n, err := strconv.Atoi(s)
	if err != nil {
		return 0, invalid("invalid port %q: %v", s, err)
	}
	return n, nil
}

func invalid(format string, args ...any) error {
	return errors.NewNotValid(nil, fmt.Sprintf(format, args...))
}

// Validate says what is wrong with the range, with the contract's texts.
func (p PortRange) Validate() error {
	switch p.Protocol {
	case "tcp", "udp":
	case "icmp":
		if p.From != 0 || p.To != 0 {
			return invalid("protocol \"icmp\" doesn't support any ports; got %q", p.ports())
		}
		return nil
	default:
		return invalid("invalid protocol %q, expected \"tcp\", \"udp\", or \"icmp\"", p.Protocol)
	}
	if p.From > p.To {
		return invalid("invalid port range %d-%d/%s", p.From, p.To, p.Protocol)
	}
	if p.From < 0 || p.To > 65535 {
		return invalid("port range bounds must be between 0 and 65535, got %d-%d", p.From, p.To)
	}
	return nil
}

func (p PortRange) ports() string {
	if p.From == p.To {
		return strconv.Itoa(p.From)
	}
	return fmt.Sprintf("%d-%d", p.From, p.To)
}

// String is "80/tcp", "8000-8100/tcp" or "icmp".
func (p PortRange) String() string {
	if p.Protocol == "icmp" {
		return "icmp"
	}
	return p.ports() + "/" + p.Protocol
}

// Conflicts says whether two ranges have a port of one protocol in common.
func (p PortRange) Conflicts(q PortRange) bool {
	return p.Protocol == q.Protocol && p.From <= q.To && q.From <= p.To
}

// ComparePorts orders ranges by protocol, then by number.
func ComparePorts(a, b PortRange) int {
	return cmp.Or(strings.Compare(a.Protocol, b.Protocol), cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To))
}

// Ports are the ranges that one unit has opened, by endpoint; the empty
// endpoint stands for all of them. Each list is sorted by ComparePorts.
type Ports map[string][]PortRange

// All is every range once, over all endpoints, sorted.
func (p Ports) All() []PortRange {
	var all []PortRange
	for _, ranges := range p {
		all = append(all, ranges...)
	}
	slices.SortFunc(all, ComparePorts)
	return slices.Compact(all)
}

// Clone is a copy that shares nothing.
func (p Ports) Clone() Ports {
	c := make(Ports, len(p))
	for ep, ranges := range p {
		c[ep] = slices.Clone(ranges)
	}
	return c
}

// PortChange opens or closes one range on one endpoint ("" for all).
type PortChange struct {
	Endpoint string    `json:"endpoint,omitempty"`
	Range    PortRange `json:"range"`
	Close    bool      `json:"close,omitempty"`
}

// Apply returns the ports after the changes, in their order. Opening what is
// open and closing what is closed change nothing.
func (p Ports) Apply(changes []PortChange) Ports {
	out := p.Clone()
	for _, c := range changes {
		ranges := out[c.Endpoint]
		i, found := slices.BinarySearchFunc(ranges, c.Range, ComparePorts)
		switch {
		case c.Close && found:
			out[c.Endpoint] = slices.Delete(ranges, i, i+1)
			if len(out[c.Endpoint]) == 0 {
				delete(out, c.Endpoint)
			}
		case !c.Close && !found:
			out[c.Endpoint] = slices.Insert(ranges, i, c.Range)
		}
	}
	return out
}
