package model

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"
)

// Constraints say what a machine for units has to be like. nil says nothing of a
// matter; an empty value says that nothing is asked for, whatever the model says.
// Sizes are in MiB. As JSON and YAML they are as the field prints them. Source:
// docs/spec/juju-clients.md §6.3.
type Constraints struct {
	Arch             *string   `json:"arch,omitempty" yaml:"arch,omitempty"`
	Container        *string   `json:"container,omitempty" yaml:"container,omitempty"`
	Cores            *uint64   `json:"cores,omitempty" yaml:"cores,omitempty"`
	CPUPower         *uint64   `json:"cpu-power,omitempty" yaml:"cpu-power,omitempty"`
	Mem              *uint64   `json:"mem,omitempty" yaml:"mem,omitempty"`
	RootDisk         *uint64   `json:"root-disk,omitempty" yaml:"root-disk,omitempty"`
	RootDiskSource   *string   `json:"root-disk-source,omitempty" yaml:"root-disk-source,omitempty"`
	Tags             *[]string `json:"tags,omitempty" yaml:"tags,omitempty"`
	InstanceRole     *string   `json:"instance-role,omitempty" yaml:"instance-role,omitempty"`
	InstanceType     *string   `json:"instance-type,omitempty" yaml:"instance-type,omitempty"`
	Spaces           *[]string `json:"spaces,omitempty" yaml:"spaces,omitempty"`
	VirtType         *string   `json:"virt-type,omitempty" yaml:"virt-type,omitempty"`
	Zones            *[]string `json:"zones,omitempty" yaml:"zones,omitempty"`
	AllocatePublicIP *bool     `json:"allocate-public-ip,omitempty" yaml:"allocate-public-ip,omitempty"`
	ImageID          *string   `json:"image-id,omitempty" yaml:"image-id,omitempty"`
}

// constraint is one matter of Constraints.
type constraint struct {
	key string
	// set reads a value; the error says what is expected.
	set func(c *Constraints, value string) error
	// text is the value as text; false: nothing is said of it.
	text func(c *Constraints) (string, bool)
	// take has what over says of it, if it says anything.
	take func(c, over *Constraints)
}

func constrain[T any](key string, at func(*Constraints) **T, parse func(string) (T, error), format func(T) string) constraint {
	return constraint{
		key: key,
		set: func(c *Constraints, value string) error {
			v, err := parse(value)
			*at(c) = &v
			return err
		},
		text: func(c *Constraints) (string, bool) {
			if v := *at(c); v != nil {
				return format(*v), true
			}
			return "", false
		},
		take: func(c, over *Constraints) {
			if v := *at(over); v != nil {
				*at(c) = v
			}
		},
	}
}

// constraints are all that there are, in the order of their text.
func constraints() []constraint {
	return []constraint{
		constrain("arch", func(c *Constraints) **string { return &c.Arch }, oneOf("amd64", "arm64", "ppc64el", "s390x", "riscv64"), asIs),
		constrain("container", func(c *Constraints) **string { return &c.Container }, oneOf("lxd", "none"), asIs),
		constrain("cores", func(c *Constraints) **uint64 { return &c.Cores }, parseCount, formatCount),
		constrain("cpu-power", func(c *Constraints) **uint64 { return &c.CPUPower }, parseCount, formatCount),
		constrain("instance-role", func(c *Constraints) **string { return &c.InstanceRole }, anyText, asIs),
		constrain("instance-type", func(c *Constraints) **string { return &c.InstanceType }, anyText, asIs),
		constrain("mem", func(c *Constraints) **uint64 { return &c.Mem }, parseMiB, formatMiB),
		constrain("root-disk", func(c *Constraints) **uint64 { return &c.RootDisk }, parseMiB, formatMiB),
		constrain("root-disk-source", func(c *Constraints) **string { return &c.RootDiskSource }, anyText, asIs),
		constrain("tags", func(c *Constraints) **[]string { return &c.Tags }, parseList, formatList),
		constrain("spaces", func(c *Constraints) **[]string { return &c.Spaces }, parseList, formatList),
		constrain("virt-type", func(c *Constraints) **string { return &c.VirtType }, anyText, asIs),
		constrain("zones", func(c *Constraints) **[]string { return &c.Zones }, parseList, formatList),
		constrain("allocate-public-ip", func(c *Constraints) **bool { return &c.AllocatePublicIP }, parseTruth, strconv.FormatBool),
		constrain("image-id", func(c *Constraints) **string { return &c.ImageID }, anyText, asIs),
	}
}

// constraintAliases are other names of some.
var constraintAliases = map[string]string{"cpu-cores": "cores"}

// ParseConstraints reads constraints, "key=value", of which one word may have several
// with blanks between; a blank within a value is written "\ ". The error is NotValid.
// Source: docs/spec/juju-clients.md §6.3.
func ParseConstraints(words ...string) (Constraints, error) {
	var c Constraints
	known := constraints()
	for _, word := range words {
		for _, part := range splitConstraints(word) {
			key, value, ok := strings.Cut(part, "=")
			if !ok || strings.HasSuffix(part, `\`) {
				return Constraints{}, errors.NewNotValid(nil, fmt.Sprintf("malformed constraint %q", part))
			}
			if name, ok := constraintAliases[key]; ok {
				key = name
			}
			i := slices.IndexFunc(known, func(k constraint) bool { return k.key == key })
			if i < 0 {
				return Constraints{}, errors.NewNotValid(nil, fmt.Sprintf("unknown constraint %q", key))
			}
			_, twice := known[i].text(&c)
			err := known[i].set(&c, value)
			if twice {
				err = errors.New("already set")
			}
			if err != nil {
				return Constraints{}, errors.NewNotValid(nil, fmt.Sprintf("bad %q constraint: %v", key, err))
			}
		}
	}
	return c, nil
}

// splitConstraints takes a word apart at blanks that aren't written "\ ".
func splitConstraints(word string) []string {
	const hidden = "\x00"
	fields := strings.Fields(strings.ReplaceAll(word, `\ `, hidden))
	for i, f := range fields {
		fields[i] = strings.ReplaceAll(f, hidden, " ")
	}
	return fields
}

// String is the constraints as one line, which ParseConstraints reads.
func (c Constraints) String() string {
	var words []string
	for _, k := range constraints() {
		if text, ok := k.text(&c); ok {
			words = append(words, k.key+"="+strings.ReplaceAll(text, " ", `\ `))
		}
	}
	return strings.Join(words, " ")
}

// Under is what holds for a machine where the application says c and the model says
// less particular things: c wins, matter by matter.
func (c Constraints) Under(ofModel Constraints) Constraints {
	for _, k := range constraints() {
		k.take(&ofModel, &c)
	}
	return ofModel
}

// Beyond says which of the constraints a host of so many cores, and so much memory in
// MiB, doesn't fulfil; 0: nobody knows how much it has. The architecture is another
// matter, see Architecture.
func (c Constraints) Beyond(cores, mem uint64) []string {
	var out []string
	if c.Cores != nil && cores > 0 && *c.Cores > cores {
		out = append(out, fmt.Sprintf("cores=%d (this host has %d)", *c.Cores, cores))
	}
	if c.Mem != nil && mem > 0 && *c.Mem > mem {
		out = append(out, fmt.Sprintf("mem=%dM (this host has %dM)", *c.Mem, mem))
	}
	return out
}

// Architecture is the one that is asked for; empty: any will do.
func (c Constraints) Architecture() string {
	if c.Arch == nil {
		return ""
	}
	return *c.Arch
}

// ArchitectureOf is the field's name of what Go calls goarch.
func ArchitectureOf(goarch string) string {
	if goarch == "ppc64le" {
		return "ppc64el"
	}
	return goarch
}

func asIs(s string) string { return s }

func anyText(s string) (string, error) { return s, nil }

func oneOf(known ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		if s != "" && !slices.Contains(known, s) {
			return s, errors.Errorf("%q not recognized", s)
		}
		return s, nil
	}
}

func parseCount(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(s, 10, 63)
	if err != nil {
		return 0, errors.New("must be a non-negative integer")
	}
	return n, nil
}

func formatCount(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10)
}

// parseMiB reads a size, in MiB unless a suffix says otherwise, and rounds it up.
func parseMiB(s string) (uint64, error) {
	if s == "" {
		return 0, nil
	}
	number, factor := s, 1.0
	if i := strings.IndexByte("MGTP", s[len(s)-1]); i >= 0 {
		number, factor = s[:len(s)-1], math.Pow(1024, float64(i))
	}
	f, err := strconv.ParseFloat(number, 64)
	if err != nil || f < 0 || math.IsNaN(f) || f*factor > math.MaxInt64 {
		return 0, errors.New("must be a non-negative float with optional M/G/T/P suffix")
	}
	return uint64(math.Ceil(f * factor)), nil
}

func formatMiB(n uint64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatUint(n, 10) + "M"
}

func parseList(s string) ([]string, error) {
	if s == "" {
		return []string{}, nil
	}
	return strings.Split(s, ","), nil
}

func formatList(list []string) string { return strings.Join(list, ",") }

func parseTruth(s string) (bool, error) {
	switch s {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, errors.New("must be 'true' or 'false'")
}
