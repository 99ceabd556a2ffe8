package scale_test

import (
	"os"
	"testing"

	"github.com/unitd/unitd/scale"
)

func run(t *testing.T, s scale.Shape) *scale.Figures {
	t.Helper()
	f, err := scale.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.Write(os.Stdout); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestSmall(t *testing.T) {
	run(t, scale.Shape{Units: 100, Machines: 10, Applications: 8})
	run(t, scale.Shape{Units: 100, Machines: 10, Applications: 8, Spare: true})
}
