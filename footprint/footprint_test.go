package footprint

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// words are changes in short: "+ a".
func words(all []Change) (words []string) {
	for _, c := range all {
		words = append(words, string(c.How)+" "+c.Path)
	}
	return words
}

// TestBetween: what two sights say that a hook has done. Times are counted from 0, and the hook
// has begun at 10.
func TestBetween(t *testing.T) {
	t.Parallel()
	const dev = -1 // of a size: the file stands for one that was removed
	sight := func(dirs map[string]int64, files map[string][2]int64) *Sight {
		s := &Sight{Files: map[string]File{}, dirs: dirs}
		for at, f := range files {
			s.Files[at] = File{Size: max(0, f[0]), Changed: f[1], device: f[0] == dev}
		}
		return s
	}
	unread := func(s *Sight, dirs ...string) *Sight {
		s.Unread = dirs
		return s
	}
	for _, test := range []struct {
		name          string
		before, after *Sight
		want          []string
	}{
		{"made, changed, removed, and as it was",
			sight(map[string]int64{".": 5}, map[string][2]int64{"b": {1, 5}, "c": {1, 5}, "d": {1, 5}}),
			sight(map[string]int64{".": 11}, map[string][2]int64{"a": {1, 11}, "b": {2, 11}, "d": {1, 5}}),
			[]string{"+ a", "M b", "- c"}},
		{"what was changed before the hook isn't the hook's",
			sight(map[string]int64{".": 5}, map[string][2]int64{"b": {1, 5}, "c": {1, 5}}),
			sight(map[string]int64{".": 9}, map[string][2]int64{"a": {1, 8}, "b": {2, 8}}),
			nil},
		{"a link to a file changes nothing of it",
			sight(map[string]int64{".": 5}, map[string][2]int64{"b": {1, 5}}),
			sight(map[string]int64{".": 5}, map[string][2]int64{"b": {1, 11}}),
			nil},
		{"a directory that is moved takes its files along",
			sight(map[string]int64{".": 5, "x": 5, "x/y": 5}, map[string][2]int64{"x/y/a": {1, 5}}),
			sight(map[string]int64{".": 11, "z": 11, "z/y": 5}, map[string][2]int64{"z/y/a": {1, 5}}),
			[]string{"- x/y/a", "+ z/y/a"}},
		{"a file of the layer below is removed; what is new is made",
			sight(map[string]int64{"/": 5}, nil),
			sight(map[string]int64{"/": 5}, map[string][2]int64{"/a": {1, 11}, "/b": {dev, 11}}),
			[]string{"+ /a", "- /b"}},
		{"a file that was removed is made again",
			sight(map[string]int64{"/": 5}, map[string][2]int64{"/a": {dev, 5}, "/b": {dev, 5}}),
			sight(map[string]int64{"/": 5}, map[string][2]int64{"/a": {1, 11}, "/b": {dev, 11}}),
			[]string{"+ /a"}},
		{"what is in a directory that can't be read any more isn't known",
			sight(map[string]int64{".": 5, "x": 5, "xy": 5}, map[string][2]int64{"x/a": {1, 5}, "x/y/b": {1, 5}, "xy/c": {1, 5}}),
			unread(sight(map[string]int64{".": 11, "x": 11, "xy": 11}, nil), "x"),
			[]string{"- xy/c"}},
		{"nor what is in one that can't be read at all",
			sight(map[string]int64{".": 5, "/etc": 5}, map[string][2]int64{"a": {1, 5}, "/etc/b": {1, 5}}),
			unread(sight(map[string]int64{".": 11, "/etc": 11}, nil), "."),
			[]string{"- /etc/b"}},
		{"of a directory that is gone all is removed",
			sight(map[string]int64{"/etc": 5, "/etc/x": 5}, map[string][2]int64{"/etc/x/a": {1, 5}}),
			sight(map[string]int64{}, nil),
			[]string{"- /etc/x/a"}},
	} {
		have := words(Between(test.before, test.after, 10))
		if !slices.Equal(have, test.want) {
			t.Errorf("%s:\nhave %q\nwant %q", test.name, have, test.want)
		}
	}
}

// TestDifference: what a file's text was and is, and what can't be told.
func TestDifference(t *testing.T) {
	t.Parallel()
	text, why := difference("a", content{text: []byte("one\ntwo\n")}, content{text: []byte("one\nthree\n")})
	if want := "--- a (before)\n+++ a\n@@ -1,2 +1,2 @@\n one\n-two\n+three\n"; text != want || why != "" {
		t.Errorf("have %q %q, want %q", text, why, want)
	}
	for _, test := range []struct {
		was, is content
		want    string
	}{
		{content{text: []byte("x")}, content{why: "binary"}, "binary"},
		{content{why: "too large"}, content{text: []byte("x")}, "too large"},
		{content{text: []byte("x")}, content{text: []byte("x")}, "its text is as it was"},
	} {
		if text, why := difference("a", test.was, test.is); text != "" || why != test.want {
			t.Errorf("have %q %q, want %q", text, why, test.want)
		}
	}
}

// tree is a directory of a test, with what a Tracker follows there.
type tree struct {
	t     *testing.T
	dir   string
	roots []Root
	Tracker
}

func newTree(t *testing.T, mode string) *tree {
	dir := t.TempDir()
	tr := &tree{t: t, dir: dir, roots: []Root{{Dir: dir, Skip: func(at string) bool { return at == "skipped" }}}}
	tr.Follow(mode)
	return tr
}

func (tr *tree) write(name, text string) {
	path := filepath.Join(tr.dir, name)
	err := os.MkdirAll(filepath.Dir(path), 0o755)
	if err == nil {
		err = os.WriteFile(path, []byte(text), 0o644)
	}
	if err != nil {
		tr.t.Fatal(err)
	}
}

// run is a run of what fn does.
func (tr *tree) run(fn func()) *Found {
	tr.Begin(tr.roots)
	fn()
	return tr.End(tr.roots)
}

func TestTrackerTellsRunByRun(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Content)
	tr.write("config", "port: 80\n")
	tr.write("old", "old\n")
	first := tr.run(func() {
		tr.write("config", "port: 8080\n")
		tr.write("deep/er/new", "new\n")
		tr.write("skipped/new", "new\n")
		tr.write("blob", "\x00\x01")
		tr.write("large", strings.Repeat("x\n", MaxText))
		if err := os.Remove(filepath.Join(tr.dir, "old")); err != nil {
			t.Fatal(err)
		}
	})
	if have, want := words(first.Files), []string{"+ blob", "M config", "+ deep/er/new", "+ large", "- old"}; !slices.Equal(have, want) {
		t.Errorf("have %q, want %q", have, want)
	}
	for i, want := range []string{"binary", "-port: 80\n+port: 8080\n", "+new\n", "too large", "-old\n"} {
		if c := first.Files[i]; !strings.HasSuffix(c.Diff+c.Note, want) {
			t.Errorf("%s: have %q %q, want %q", c.Path, c.Diff, c.Note, want)
		}
	}
	if again := tr.run(func() {}); len(again.Files) != 0 || again.Note != "" {
		t.Errorf("a run that does nothing: %+v", again)
	}
	next := tr.run(func() { tr.write("config", "port: 90\n") })
	if have := words(next.Files); !slices.Equal(have, []string{"M config"}) || !strings.HasSuffix(next.Files[0].Diff, "-port: 8080\n+port: 90\n") {
		t.Errorf("have %+v", next)
	}
}

// TestTrackerFollowsNoLinks: a directory that was replaced by a link isn't looked into.
func TestTrackerFollowsNoLinks(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Content)
	elsewhere := t.TempDir()
	if err := os.WriteFile(filepath.Join(elsewhere, "key"), []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	tr.write("dir/key", "mine")
	found := tr.run(func() {
		if err := os.RemoveAll(filepath.Join(tr.dir, "dir")); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(elsewhere, filepath.Join(tr.dir, "dir")); err != nil {
			t.Fatal(err)
		}
	})
	if have := words(found.Files); !slices.Equal(have, []string{"+ dir", "- dir/key"}) {
		t.Errorf("have %q", have)
	}
	if c := readIn(tr.dir, "dir/key"); c.why == "" {
		t.Errorf("a link was followed out of the directory: %q", c.text)
	}
}

func TestTrackerGivesUpWhereThereIsTooMuch(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Names)
	tr.limits = Limits{Files: 3}
	tr.write("a", "")
	if found := tr.run(func() {
		for i := range 3 {
			if err := os.WriteFile(filepath.Join(tr.dir, fmt.Sprint(i)), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}); len(found.Files) != 0 || !strings.Contains(found.Note, "more than") {
		t.Errorf("have %d files, %q", len(found.Files), found.Note)
	}
	if found := tr.run(func() {}); !strings.Contains(found.Note, "more than") {
		t.Errorf("it looks again: %+v", found)
	}
}

func TestTrackerLooksOnlyWhereItIsWanted(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"", Off} {
		tr := newTree(t, mode)
		if found := tr.run(func() { tr.write("a", "") }); found != nil {
			t.Errorf("%q: have %+v", mode, found)
		}
	}
	tr := newTree(t, Names)
	if found := tr.End(tr.roots); found == nil || !strings.Contains(found.Note, "when the run began") {
		t.Errorf("a run that nobody has seen begin: %+v", found)
	}
	tr.Begin(tr.roots)
	if found := tr.End(nil); found == nil || !strings.Contains(found.Note, "couldn't be looked at") {
		t.Errorf("a run whose files are nobody knows where: %+v", found)
	}
	tr.Begin(nil)
	if found := tr.End(tr.roots); found == nil || !strings.Contains(found.Note, "when the run began") {
		t.Errorf("a run whose files were nobody knows where: %+v", found)
	}
}

// TestAfterARunThatIsNotFollowedTrackerLooksAnew: what it has done isn't the next run's.
func TestAfterARunThatIsNotFollowedTrackerLooksAnew(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Content)
	tr.write("a", "one\n")
	tr.run(func() {})
	tr.Unfollowed()
	tr.write("a", "one\ntwo\n")
	found := tr.run(func() { tr.write("a", "one\ntwo\nthree\n") })
	if len(found.Files) != 1 || !strings.HasSuffix(found.Files[0].Diff, "\n one\n two\n+three\n") {
		t.Errorf("have %+v", found)
	}
	found = tr.run(func() {
		tr.write("b", "")
		tr.Unfollowed()
	})
	if have := words(found.Files); !slices.Equal(have, []string{"+ b"}) {
		t.Errorf("a second run within the first: %q, %q", have, found.Note)
	}
}

// TestTextsThatAreTooMany: nothing is read that there is no room for, or no time, and all is said
// that is known without.
func TestTextsThatAreTooMany(t *testing.T) {
	t.Parallel()
	tr := newTree(t, Content)
	tr.write("large", "")
	found := tr.run(func() {
		for i := range 6 { // three of them are more than the differences may be
			tr.write(fmt.Sprint(i), strings.Repeat("x\n", MaxText/2-1))
		}
		tr.write("large", strings.Repeat("x", MaxText+1))
	})
	var notes []string
	for _, c := range found.Files {
		notes = append(notes, c.Note)
	}
	if want := []string{"", tooMuch.why, tooMuch.why, tooMuch.why, tooMuch.why, tooMuch.why, "too large"}; !slices.Equal(notes, want) {
		t.Errorf("have %q, want %q", notes, want)
	}
	if len(tr.texts.at["5"].text) != 0 {
		t.Error("what nobody is shown was read")
	}
	s := Look(tr.roots, Limits{})
	late := readTexts(tr.roots, s, time.Now().Add(-time.Second))
	if c := late.at["0"]; !strings.Contains(c.why, "too long") || late.at["large"].why != "too large" {
		t.Errorf("when there is no time: %+v", c)
	}
	full := &texts{at: map[string]content{}, size: MaxTexts}
	if c := full.take(nil, s, "0", time.Time{}); c.why != noRoom.why {
		t.Errorf("when there is no room: %+v", c)
	}
}

// BenchmarkLook measures a look at a directory of so many files, as there is one after each hook.
func BenchmarkLook(b *testing.B) {
	for _, files := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("files=%d", files), func(b *testing.B) {
			dir := b.TempDir()
			for i := range files {
				sub := filepath.Join(dir, fmt.Sprint(i/50))
				if err := os.MkdirAll(sub, 0o755); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(filepath.Join(sub, fmt.Sprint(i)), nil, 0o644); err != nil {
					b.Fatal(err)
				}
			}
			b.ResetTimer()
			for range b.N {
				if s := Look([]Root{{Dir: dir}}, Limits{MaxFiles, MaxTime}); len(s.Files) != files {
					b.Fatal(len(s.Files))
				}
			}
		})
	}
}
