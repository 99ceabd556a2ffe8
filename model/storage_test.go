package model_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/juju/errors"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/model"
)

func TestStorageIDs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "data", "data/", "data/-1", "data/01", "data/x", "/0", "Data/0", "data/0/1", "9/9"} {
		_, err := model.ParseStorageID(bad)
		if want := fmt.Sprintf("invalid storage ID %q", bad); err == nil || err.Error() != want || !errors.Is(err, errors.NotValid) {
			t.Errorf("%q: %v, want %s", bad, err, want)
		}
	}
	id, err := model.ParseStorageID("web-logs/12")
	if err != nil || id.Name() != "web-logs" || id.Number() != 12 || id != model.NewStorageID("web-logs", 12) {
		t.Errorf("got %s, %v", id, err)
	}
	ids := []model.StorageID{"data/10", "logs/1", "data/9"}
	slices.SortFunc(ids, model.CompareStorage)
	if fmt.Sprint(ids) != "[data/9 data/10 logs/1]" {
		t.Errorf("in order: %v", ids)
	}
}

func TestStorageDirectives(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                  "{ 0 0}",
		"rootfs":            "{rootfs 0 0}",
		"rootfs,1G,2":       "{rootfs 1024 2}",
		"2,rootfs":          "{rootfs 0 2}",
		"1.5GiB":            "{ 1536 0}",
		"0.2M":              "{ 1 0}",
		"my-pool.1,512M":    "{my-pool.1 512 0}",
		"0":                 `cannot parse count: count must be greater than zero, got "0"`,
		"-1":                `cannot parse count: count must be greater than zero, got "-1"`,
		"1,2":               `"1,2": a pool, a count and a size can be given once each`,
		"1G,2G":             `"1G,2G": a pool, a count and a size can be given once each`,
		"tmpfs,":            `"" is neither a pool, nor a count, nor a size`,
		"a b":               `"a b" is neither a pool, nor a count, nor a size`,
		"9999999999999999Y": `size "9999999999999999Y" is too large`,
	} {
		d, err := model.ParseStorageDirective(text)
		got := fmt.Sprint(d)
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestADirectiveIsReadAnyWayRound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := []string{
			rapid.StringMatching(`[a-z][a-z0-9-]{0,6}[a-z]`).Draw(t, "pool"),
			fmt.Sprint(rapid.IntRange(1, 1000).Draw(t, "count")),
			fmt.Sprintf("%d%s", rapid.IntRange(1, 1000).Draw(t, "size"), rapid.SampledFrom([]string{"M", "G", "T", "GiB"}).Draw(t, "unit")),
		}
		one, err := model.ParseStorageDirective(words[0] + "," + words[1] + "," + words[2])
		if err != nil {
			t.Fatal(err)
		}
		other, err := model.ParseStorageDirective(words[2] + "," + words[0] + "," + words[1])
		if err != nil || one != other {
			t.Fatalf("%v, and the other way round %v, %v", one, other, err)
		}
	})
}

func TestWhatADirectiveLeavesOpenIsTheCharmsOrADefault(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		spec model.StorageSpec
		d    model.StorageDirective
		want string
	}{
		{model.StorageSpec{Type: "filesystem", CountMin: 1}, model.StorageDirective{}, "{rootfs 1024 1}"},
		{model.StorageSpec{Type: "block", CountMin: 2}, model.StorageDirective{}, "{loop 1024 2}"},
		{model.StorageSpec{Type: "filesystem", MinimumSize: "3G"}, model.StorageDirective{}, "{rootfs 3072 0}"},
		{model.StorageSpec{Type: "filesystem", MinimumSize: "3G"}, model.StorageDirective{Pool: "tmpfs", Size: 1, Count: 4}, "{tmpfs 1 4}"},
	} {
		if got := fmt.Sprint(c.spec.Complete(c.d)); got != c.want {
			t.Errorf("%+v with %v: got %s, want %s", c.spec, c.d, got, c.want)
		}
	}
}

func TestCharmsRefuseStorageThatTheyCannotHave(t *testing.T) {
	t.Parallel()
	charm := model.Charm{Name: "db", Storage: map[string]model.StorageSpec{
		"data":   {Type: "filesystem", CountMin: 1, CountMax: 2, MinimumSize: "1G"},
		"disk":   {Type: "block", CountMin: 0, CountMax: -1},
		"common": {Type: "filesystem", CountMin: 0, CountMax: 1, Shared: true},
	}}
	for _, c := range []struct {
		name     string
		count    int
		size     uint64
		provider string
		want     string
	}{
		{"data", 1, 1024, "rootfs", ""},
		{"disk", 99, 1, "loop", ""},
		{"common", 0, 1, "rootfs", ""},
		{"logs", 1, 1024, "rootfs", `charm "db" has no store called "logs"`},
		{"data", 0, 1024, "rootfs", `charm "db" store "data": 1 instances required, 0 specified`},
		{"data", 3, 1024, "rootfs", `charm "db" store "data": at most 2 instances supported, 3 specified`},
		{"data", 1, 1023, "rootfs", `charm "db" store "data": minimum storage size is 1GiB, 1023MiB specified`},
		{"disk", 1, 1024, "rootfs", `charm "db" store "disk": storage provider "rootfs" has no block storage`},
		{"common", 1, 1024, "rootfs", `charm "db" store "common": shared storage is not supported`},
	} {
		p, _ := model.StorageProviderOf(c.provider)
		err := charm.CheckStorage(c.name, c.count, model.StorageDirective{Size: c.size}, p)
		if got := fmt.Sprint(err); c.want == "" && err != nil || c.want != "" && (got != c.want || !errors.Is(err, errors.NotValid)) {
			t.Errorf("%+v: got %v", c, err)
		}
	}
}

func TestSizesForPeople(t *testing.T) {
	t.Parallel()
	for size, want := range map[uint64]string{0: "0MiB", 1: "1MiB", 1023: "1023MiB", 1024: "1GiB", 1536: "1.5GiB", 3 << 20: "3TiB"} {
		if got := model.SizeText(size); got != want {
			t.Errorf("%d: got %s, want %s", size, got, want)
		}
	}
}
