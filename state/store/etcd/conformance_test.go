package etcd_test

import (
	"flag"
	"os"
	"testing"

	"github.com/unitd/unitd/state/store"
	"github.com/unitd/unitd/state/store/etcd"
	"github.com/unitd/unitd/state/store/etcd/etcdtest"
	"github.com/unitd/unitd/state/store/storetest"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("UNITD_TEST_LONG") == "" && !given("rapid.checks") {
		// A watch from before now waits 100 ms for etcd to notice it, so a
		// hundred runs of the model take two minutes.
		_ = flag.Set("rapid.checks", "6")
	}
	code := m.Run()
	etcdtest.Stop()
	os.Exit(code)
}

// given says whether a flag is on the command line.
func given(name string) (is bool) {
	flag.Visit(func(f *flag.Flag) { is = is || f.Name == name })
	return is
}

// open opens the store that a URL names; the test's end closes it.
func open(t testing.TB, url string) *etcd.Store {
	t.Helper()
	o, err := etcd.ParseURL(url, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := etcd.Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func TestConformance(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, etcdtest.Alone(t)) })
}

func TestConformanceOfAPair(t *testing.T) {
	t.Parallel()
	storetest.RunPair(t, func(t *testing.T) (a, b store.Store) {
		url := etcdtest.Alone(t)
		return open(t, url), open(t, url)
	})
}

func BenchmarkStore(b *testing.B) {
	storetest.Bench(b, func(b *testing.B) store.Store { return open(b, etcdtest.URL(b)) })
}
