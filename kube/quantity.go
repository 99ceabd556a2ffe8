package kube

import (
	"math"
	"math/big"
	"strconv"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// quantityForm is a number with at most one suffix or exponent.
var quantityForm = pattern.New(`^([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))(?:([KMGTPE]i|[numkMGTPE])|[eE]([+-]?[0-9]{1,3}))?$`)

// suffixes are what quantities may end with: a power, of ten or of 1,024.
var suffixes = map[string]struct{ base, power int64 }{
	"n": {10, -9}, "u": {10, -6}, "m": {10, -3}, "": {10, 0}, "k": {10, 3}, "M": {10, 6}, "G": {10, 9}, "T": {10, 12}, "P": {10, 15}, "E": {10, 18},
	"Ki": {1024, 1}, "Mi": {1024, 2}, "Gi": {1024, 3}, "Ti": {1024, 4}, "Pi": {1024, 5}, "Ei": {1024, 6},
}

// Quantity is an amount of a resource, such as "500m" of processors or "1Gi" of
// memory. The zero value is none.
type Quantity struct{ r big.Rat }

// ParseQuantity reads an amount: a decimal number, then nothing, one of n, u, m,
// k, M, G, T, P, E (powers of ten), Ki to Ei (powers of 1,024), or an exponent
// such as e3. NotValid for anything else.
// The form is that of the API's type Quantity.
func ParseQuantity(s string) (Quantity, error) {
	m := quantityForm.FindStringSubmatch(s)
	if m == nil || len(s) > 100 {
		return Quantity{}, errors.NotValidf("quantity %.40q", s)
	}
	var q Quantity
	if _, ok := q.r.SetString(m[1]); !ok {
		return Quantity{}, errors.NotValidf("quantity %.40q", s)
	}
	by := suffixes[m[2]]
	if m[3] != "" {
		by.power, _ = strconv.ParseInt(m[3], 10, 64) // the form has made sure
	}
	factor := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(by.base), big.NewInt(max(by.power, -by.power)), nil))
	if by.power < 0 {
		factor.Inv(factor)
	}
	q.r.Mul(&q.r, factor)
	return q, nil
}

// Value is the amount in whole units, rounded up, and at most the largest int64.
func (q Quantity) Value() int64 { return roundedUp(&q.r) }

// Milli is the amount in thousandths, rounded up, and at most the largest int64.
func (q Quantity) Milli() int64 {
	return roundedUp(new(big.Rat).Mul(&q.r, big.NewRat(1000, 1)))
}

// Cmp is negative where q is less than other, 0 where they are equal.
func (q Quantity) Cmp(other Quantity) int { return q.r.Cmp(&other.r) }

// Sign is -1, 0 or 1.
func (q Quantity) Sign() int { return q.r.Sign() }

func roundedUp(r *big.Rat) int64 {
	whole, rest := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if rest.Sign() > 0 {
		whole.Add(whole, big.NewInt(1))
	}
	switch {
	case whole.IsInt64():
		return whole.Int64()
	case whole.Sign() > 0:
		return math.MaxInt64
	}
	return math.MinInt64
}
