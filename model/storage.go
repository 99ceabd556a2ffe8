package model

import (
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// StorageID names an instance of storage, "data/0": the name that the charm
// gives it, and a number that no other instance of the model has or will have.
type StorageID string

// The kinds of storage.
const (
	Filesystem = "filesystem" // a directory
	Block      = "block"      // a device
)

// MaxStorage is how many instances a unit can have: they are made, and go, in
// one transaction with it.
const MaxStorage = 32

// NewStorageID is the id of the instance of that name with that number.
func NewStorageID(name string, number int) StorageID {
	return StorageID(name + "/" + strconv.Itoa(number))
}

// ParseStorageID reads "name/number". The error is NotValid and has the
// contract's text: `invalid storage ID "x"`.
func ParseStorageID(s string) (StorageID, error) {
	name, num, _ := strings.Cut(s, "/")
	if n, err := strconv.Atoi(num); !ValidApplication(name) || err != nil || n < 0 || strconv.Itoa(n) != num {
		return "", errors.NewNotValid(nil, "invalid storage ID "+strconv.Quote(s))
	}
	return StorageID(s), nil
}

// Name is the part before the slash.
func (s StorageID) Name() string {
	name, _, _ := strings.Cut(string(s), "/")
	return name
}

// Number is the part after the slash; -1 where there is none.
func (s StorageID) Number() int {
	_, num, _ := strings.Cut(string(s), "/")
	n, err := strconv.Atoi(num)
	if err != nil {
		return -1
	}
	return n
}

// CompareStorage orders ids by name, then by number.
func CompareStorage(a, b StorageID) int {
	return cmp.Or(strings.Compare(a.Name(), b.Name()), cmp.Compare(a.Number(), b.Number()))
}

// The providers of storage: what it is made of on the host.
const (
	RootFS = "rootfs" // a directory
	TmpFS  = "tmpfs"  // memory
	Loop   = "loop"   // an image in a file
)

// StorageProvider is a row of the table of what storage can be made of.
type StorageProvider struct {
	Name string
	// Kinds are those that it can be.
	Kinds []string
	// Persistent: what is in it outlives its unit, and can be attached again.
	Persistent bool
}

// StorageProviders is the table of them. Each is a pool of the same name, too.
func StorageProviders() []StorageProvider {
	return []StorageProvider{
		{Loop, []string{Block, Filesystem}, true},
		{RootFS, []string{Filesystem}, true},
		{TmpFS, []string{Filesystem}, false},
	}
}

// StorageProviderOf finds a provider by its name.
func StorageProviderOf(name string) (StorageProvider, bool) {
	for _, p := range StorageProviders() {
		if p.Name == name {
			return p, true
		}
	}
	return StorageProvider{}, false
}

// StorageDirective says what storage of one name a unit gets. A zero field
// leaves it to the charm and to defaults.
type StorageDirective struct {
	Pool string `json:"pool,omitempty"`
	// Size is in MiB.
	Size  uint64 `json:"size,omitempty"`
	Count int    `json:"count,omitempty"`
}

var (
	digitsOnly = pattern.New(`^-?[0-9]+$`)
	sizeText   = pattern.New(`^([0-9]+(?:\.[0-9]+)?)([MGTPEZY])?(?:i?B)?$`)
	poolName   = pattern.New(`^[a-zA-Z](?:[a-zA-Z0-9+.-]*[a-zA-Z0-9])?$`)
)

// ValidPool says whether name can name a storage pool.
func ValidPool(name string) bool { return poolName.MatchString(name) }

// ParseSize reads a size, "512M", "1.5G" or a number of MiB, and returns it in
// MiB, rounded up.
func ParseSize(text string) (uint64, error) {
	m := sizeText.FindStringSubmatch(text)
	if m == nil {
		return 0, errors.NewNotValid(nil, fmt.Sprintf("invalid size %q, expected one such as 512M or 1.5G", text))
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if m[2] != "" {
		n *= math.Pow(1024, float64(strings.Index("MGTPEZY", m[2])))
	}
	// Above that a size in bytes would not fit where sizes are handed on.
	if err != nil || n > math.MaxInt64>>20 {
		return 0, errors.NewNotValid(nil, fmt.Sprintf("size %q is too large", text))
	}
	return uint64(math.Ceil(n)), nil
}

// SizeText is a size in MiB for people: "1.5GiB".
func SizeText(mib uint64) string {
	n, units := float64(mib), []string{"MiB", "GiB", "TiB", "PiB", "EiB"}
	i := 0
	for n >= 1024 && i < len(units)-1 {
		n, i = n/1024, i+1
	}
	return strconv.FormatFloat(math.Round(n*10)/10, 'f', -1, 64) + units[i]
}

// ParseStorageDirective reads a pool, a count and a size, in any order with
// commas between: "rootfs,2,1G". Each may be left out.
func ParseStorageDirective(text string) (StorageDirective, error) {
	var d StorageDirective
	for _, word := range strings.Split(text, ",") {
		var twice bool
		switch {
		case word == "" && text == "":
		case digitsOnly.MatchString(word):
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				return d, errors.NewNotValid(nil, fmt.Sprintf("cannot parse count: count must be greater than zero, got %q", word))
			}
			twice, d.Count = d.Count != 0, n
		case sizeText.MatchString(word):
			size, err := ParseSize(word)
			if err != nil {
				return d, err
			}
			twice, d.Size = d.Size != 0, size
		case ValidPool(word):
			twice, d.Pool = d.Pool != "", word
		default:
			return d, errors.NewNotValid(nil, fmt.Sprintf("%q is neither a pool, nor a count, nor a size", word))
		}
		if twice {
			return d, errors.NewNotValid(nil, fmt.Sprintf("%q: a pool, a count and a size can be given once each", text))
		}
	}
	return d, nil
}

// defaultStorageSize is what an instance has that nobody gives a size.
const defaultStorageSize = 1024

// Complete fills in what a directive leaves open: the least count, and at
// least the least size, that the charm asks for, and the pool by the kind. Who
// says something of storage wants one.
func (s StorageSpec) Complete(d StorageDirective) StorageDirective {
	if d.Count == 0 {
		d.Count = s.CountMin
		if d != (StorageDirective{Count: d.Count}) {
			d.Count = max(d.Count, 1)
		}
	}
	least := s.leastSize()
	if d.Size == 0 {
		d.Size = max(least, defaultStorageSize)
	}
	if d.Pool == "" {
		d.Pool = RootFS
		if s.Type == Block {
			d.Pool = Loop
		}
	}
	return d
}

func (s StorageSpec) leastSize() uint64 {
	least, err := ParseSize(s.MinimumSize)
	if err != nil {
		return 0 // none was given
	}
	return least
}

// CheckStorage says what is wrong with count instances, the size of d, and that
// provider for storage of the charm; NotValid.
func (c Charm) CheckStorage(name string, count int, d StorageDirective, p StorageProvider) error {
	wrong := func(format string, args ...any) error {
		return errors.NewNotValid(nil, fmt.Sprintf("charm %q store %q: %s", c.Name, name, fmt.Sprintf(format, args...)))
	}
	s, ok := c.Storage[name]
	switch {
	case !ok:
		return errors.NewNotValid(nil, fmt.Sprintf("charm %q has no store called %q", c.Name, name))
	case s.Shared && count > 0:
		return wrong("shared storage is not supported")
	case count < s.CountMin:
		return wrong("%d instances required, %d specified", s.CountMin, count)
	case s.CountMax >= 0 && count > s.CountMax:
		return wrong("at most %d instances supported, %d specified", s.CountMax, count)
	case d.Size < s.leastSize():
		return wrong("minimum storage size is %s, %s specified", SizeText(s.leastSize()), SizeText(d.Size))
	}
	for _, kind := range p.Kinds {
		if kind == s.Type {
			return nil
		}
	}
	return wrong("storage provider %q has no %s storage", p.Name, s.Type)
}
