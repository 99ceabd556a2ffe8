package state_test

import (
	"context"
	"testing"

	"github.com/unitd/unitd/state/store"
)

// asking is a store that counts the questions to it.
type asking struct {
	store.Store
	questions int
}

func (a *asking) View(ctx context.Context, fn func(store.Reader) error) (int64, error) {
	return a.Store.View(ctx, func(r store.Reader) error { return fn(&askingReader{r, a}) })
}

type askingReader struct {
	store.Reader
	a *asking
}

func (r *askingReader) Get(key string) (store.KV, error) {
	r.a.questions++
	return r.Reader.Get(key)
}

func (r *askingReader) List(prefix string) ([]store.KV, error) {
	r.a.questions++
	return r.Reader.List(prefix)
}

// TestAStatusAsksAsMuchOfManyUnits: each question is a round trip where the store is on
// another host.
func TestAStatusAsksAsMuchOfManyUnits(t *testing.T) {
	t.Parallel()
	asked := map[int]int{}
	for _, units := range []int{1, 40} {
		w := newWorld(t)
		w.deploy(mysql, units)
		a := &asking{Store: w.store}
		s, err := w.Through(a).Status(w.ctx)
		w.ok(err)
		if len(s.Applications) != 1 || len(s.Applications[0].Units) != units || len(s.Machines) != units {
			t.Errorf("it has %d applications, %d machines", len(s.Applications), len(s.Machines))
		}
		asked[units] = a.questions
	}
	if asked[1] != asked[40] || asked[1] > 20 {
		t.Errorf("it asks %v questions, by units", asked)
	}
}
