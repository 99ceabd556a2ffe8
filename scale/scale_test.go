package scale_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/scale"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
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

// near says whether two figures are as good as the same.
func near(a, b float64) bool { return math.Abs(a-b) <= 0.02*max(a, b) }

// TestAUnitCostsTheSameInALargerModel holds the figures of a model to those of
// one that is five times as large, of services of the same size, and to those of
// a service among others whose agents are elsewhere.
func TestAUnitCostsTheSameInALargerModel(t *testing.T) {
	t.Parallel()
	one := run(t, scale.Shape{Units: 20, Machines: 2, Applications: 4})
	five := run(t, scale.Shape{Units: 100, Machines: 10, Applications: 20})
	if told := five.Told(); told < 1 || told > 3 {
		t.Errorf("a transaction is told to %.1f agents of 10", told)
	}
	for name, other := range map[string]*scale.Figures{
		"five services":      five,
		"one awake of three": run(t, scale.Shape{Units: 60, Machines: 6, Applications: 12, Awake: 1}),
	} {
		for what, figure := range map[string]func(*scale.Figures) float64{
			"hooks":           func(f *scale.Figures) float64 { return float64(f.Hooks) / float64(f.Measured) },
			"transactions":    (*scale.Figures).Transactions,
			"keys written":    func(f *scale.Figures) float64 { return float64(f.All.Puts) / float64(f.Measured) },
			"bytes stored":    func(f *scale.Figures) float64 { return float64(f.Bytes) / float64(f.Measured) },
			"reads of a look": (*scale.Figures).ReadsPerLook,
			"units that a transaction tells": func(f *scale.Figures) float64 {
				return float64(f.Woken) / float64(f.All.Updates)
			},
			"writes of a relation": func(f *scale.Figures) float64 { return float64(f.Hot["relation"]) },
		} {
			if a, b := figure(one), figure(other); !near(a, b) {
				t.Errorf("%s: %s: %.1f, in one service %.1f", name, what, b, a)
			}
		}
	}
	// Nobody may be owed a hook at the end: each unit has the eight without a
	// relation or about the making of one, and two for each other member.
	web, others := 11.0, 9.0
	want := web*(4+3+9*2) + others*(4+4+(web+6+2)*2)
	if got := float64(one.Hooks); got < want {
		t.Errorf("%.0f hooks have run, of at least %.0f", got, want)
	}
}

func TestTheSameShapeGivesTheSameFigures(t *testing.T) {
	t.Parallel()
	s := scale.Shape{Units: 12, Machines: 12, Applications: 4, Seed: 3, Boot: 10 * time.Minute}
	first := run(t, s)
	if again := run(t, s); !reflect.DeepEqual(first, again) {
		t.Errorf("first %+v, then %+v", first, again)
	}
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
		{"1000", scale.Shape{Units: 1_000, Machines: 100, Applications: 20}},
		{"10000", scale.Shape{Units: 10_000, Machines: 1_000, Applications: 200}},
		{"10000-apart", scale.Shape{Units: 10_000, Machines: 10_000, Applications: 200, Awake: 5, Boot: time.Hour}},
		{"100000", scale.Shape{Units: 100_000, Machines: 10_000, Applications: 2_000, Awake: 5}},
		{"100000-whole", scale.Shape{Units: 100_000, Machines: 10_000, Applications: 2_000}},
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

// BenchmarkTold measures what it costs that each agent watches the whole model:
// the processor time of a transaction that writes one key, until all of so many
// watches have been told of it.
func BenchmarkTold(b *testing.B) {
	for _, watches := range []int{0, 1, 10, 100, 1000} {
		b.Run(strconv.Itoa(watches), func(b *testing.B) {
			s, err := sqlite.Open(filepath.Join(b.TempDir(), "store.db"), sqlite.Options{})
			must(b, err)
			defer s.Close()
			m, err := state.NewController(s, clock.WallClock).AddModel(b.Context(), "told")
			must(b, err)
			var told []<-chan state.Change
			for range watches {
				ch, err := m.Watch(b.Context(), 0)
				must(b, err)
				told = append(told, ch)
			}
			before := cpu(b)
			n := 0
			for b.Loop() {
				n++
				rev, err := m.Mark(b.Context(), "")
				must(b, err)
				for _, ch := range told {
					for c := range ch {
						if c.Rev >= rev {
							break
						}
					}
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(float64((cpu(b)-before).Microseconds())/float64(n), "cpu-us/transaction")
		})
	}
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// cpu is the processor time that the process has used.
func cpu(tb testing.TB) time.Duration {
	var u syscall.Rusage
	must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
