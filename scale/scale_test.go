package scale_test

import (
	"os"
	"strings"
	"testing"

	"github.com/juju/errors"

	"github.com/unitd/unitd/scale"
)

func run(t *testing.T, s scale.Shape) *scale.Figures {
	t.Helper()
	f, err := scale.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	if err := f.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
	return f
}

// TestLarge takes the figures of docs/scale.md. A size takes minutes; it is
// chosen by its name.
func TestLarge(t *testing.T) {
	if os.Getenv("UNITD_TEST_LONG") == "" {
		t.Skip("takes minutes; set UNITD_TEST_LONG=1")
	}
	for _, tt := range []struct {
		name  string
		shape scale.Shape
	}{
		{"1000", scale.Shape{Units: 1_000, Machines: 100, Applications: 20, Spare: true}},
		{"10000", scale.Shape{Units: 10_000, Machines: 1_000, Applications: 200, Spare: true}},
		{"10000-apart", scale.Shape{Units: 10_000, Machines: 10_000, Applications: 200, Spare: true, Awake: 5}},
		{"100000", scale.Shape{Units: 100_000, Machines: 10_000, Applications: 2_000, Spare: true, Awake: 10}},
		{"100000-whole", scale.Shape{Units: 100_000, Machines: 10_000, Applications: 2_000, Spare: true}},
	} {
		t.Run(tt.name, func(t *testing.T) { run(t, tt.shape) })
	}
}

func TestAShapeThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	for _, s := range []scale.Shape{
		{},
		{Units: 100, Machines: 10, Applications: 6},
		{Units: 18, Machines: 2, Applications: 8},
		{Units: 101, Machines: 10, Applications: 8},
		{Units: 100, Machines: 101, Applications: 8},
		{Units: 100, Machines: 10, Applications: 8, Awake: 3},
	} {
		if _, err := scale.Run(t.Context(), s); !errors.Is(err, errors.NotValid) {
			t.Errorf("%+v: %v", s, err)
		}
	}
}
