package recording_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/recording"
)

// sample is a run with a call of each sort.
func sample() *recording.Recording {
	return &recording.Recording{
		Unit: "shop/0", ID: "1b2c", Run: 7, Hook: "db-relation-changed", Cause: "ledger/0 joined", Charm: "shop", Revision: 3,
		Unitd: "v1", Juju: "3.6.12", Started: time.Date(2026, 3, 3, 9, 0, 0, 5, time.UTC), Duration: 33643360,
		Outcome: history.Failed, Exit: 1, Message: "exit status 1: no \"host\"\nat all",
		Env: []string{"CHARM_DIR=/there/charm", "EMPTY=", "TWO=a\nb", "JUJU_CONTEXT_ID=shop/0-id"},
		Calls: []recording.Call{
			{Args: []string{"config-get", "--format=json"}, Stdout: []byte(`{"port":80}`), At: 1, Took: time.Millisecond},
			{Args: []string{"relation-set", "-r", "db:1", "--file", "-"}, StdinSet: true, Stdin: []byte("a: b\n\nc: d\n"), At: time.Hour},
			{Args: []string{"relation-set", "--file", "/tmp/x", "", "a b", "\xff\"'"}, File: []byte("-- x --\n"), Code: 2, Stderr: []byte("ERROR x\n")},
			{Args: []string{"state-set", "--file=-"}, StdinSet: true, Stdout: []byte("\n\x00\xff \n"), Stderr: []byte(" \n")},
		},
		State: []byte("SQLite format 3\x00"), CutOff: true,
	}
}

func roundTrip(t rapid.TB, r *recording.Recording) []byte {
	t.Helper()
	b, err := r.Format()
	if err != nil {
		t.Fatal(err)
	}
	got, err := recording.Parse(b)
	if err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	if !reflect.DeepEqual(normal(got), normal(r)) {
		t.Fatalf("have %+v\nwant %+v\n%s", got, r, b)
	}
	return b
}

// normal has nil where nothing or nil makes no difference.
func normal(r *recording.Recording) recording.Recording {
	n := *r
	n.Calls = nil
	for _, c := range r.Calls {
		for _, text := range []*[]byte{&c.Stdin, &c.Stdout, &c.Stderr} {
			if len(*text) == 0 {
				*text = nil
			}
		}
		n.Calls = append(n.Calls, c)
	}
	n.Asked = nil
	for _, a := range r.Asked {
		one := a
		one.Body, one.Answer = normalBody(a.Body), normalBody(a.Answer)
		if a.Exec != nil {
			e := *a.Exec
			e.Stdin, e.Stdout, e.Stderr, e.Control = normalContent(e.Stdin), normalContent(e.Stdout), normalContent(e.Stderr), normalContent(e.Control)
			one.Exec = &e
		}
		n.Asked = append(n.Asked, one)
	}
	if len(n.Env) == 0 {
		n.Env = nil
	}
	return n
}

func normalBody(b recording.Body) recording.Body {
	b.Content = normalContent(b.Content)
	b.Parts = append([]recording.Part(nil), b.Parts...)
	for i := range b.Parts {
		b.Parts[i].Content = normalContent(b.Parts[i].Content)
	}
	return b
}

func normalContent(c recording.Content) recording.Content {
	if len(c.Bytes) == 0 {
		c.Bytes = nil
	}
	return c
}

func TestARecordingReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := roundTrip(t, sample())
	for _, want := range []string{
		"unitd replay THIS-FILE --charm DIR\n", "\nhook: db-relation-changed\n", "\nargv: relation-set -r db:1 --file -\n",
		"\nstdout, no newline at its end:\n  {\"port\":80}\n", "\nstdin:\n  a: b\n\n  c: d\n", "\n\"TWO=a\\nb\"\n",
		"\nfile:\n  -- x --\n", "argv: relation-set --file /tmp/x \"\" \"a b\" \"\\xff\\\"'\"\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("there is no %q in\n%s", want, b)
		}
	}
}

func TestAnyRecordingReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	text := rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
		rapid.StringMatching(`( ?[a:"-]? ?\n?){0,6}`))
	some := rapid.Map(text, func(s string) []byte { return []byte(s) })
	took := rapid.Map(rapid.Int64Range(0, 1<<50), func(n int64) time.Duration { return time.Duration(n) })
	call := rapid.Custom(func(t *rapid.T) recording.Call {
		c := recording.Call{
			Args: append([]string{rapid.StringMatching(`[a-z-]+`).Draw(t, "tool")}, rapid.SliceOfN(text, 0, 4).Draw(t, "args")...),
			Code: rapid.IntRange(-3, 255).Draw(t, "code"), Stdout: some.Draw(t, "stdout"), Stderr: some.Draw(t, "stderr"),
			At: took.Draw(t, "at"), Took: took.Draw(t, "took"), StdinSet: rapid.Bool().Draw(t, "stdin set"),
		}
		if c.StdinSet {
			c.Stdin = some.Draw(t, "stdin")
		} else if rapid.Bool().Draw(t, "file set") {
			c.File = append([]byte{}, some.Draw(t, "file")...)
		}
		return c
	})
	rapid.Check(t, func(t *rapid.T) {
		r := sample()
		r.Message, r.Cause = text.Draw(t, "message"), text.Draw(t, "cause")
		r.Calls = rapid.SliceOfN(call, 0, 4).Draw(t, "calls")
		r.Env = rapid.SliceOfN(rapid.Map(text, func(s string) string { return "N=" + strings.ReplaceAll(s, "\x00", "") }), 0, 3).Draw(t, "env")
		r.State = append([]byte{}, some.Draw(t, "state")...)
		roundTrip(t, r)
	})
}

func TestWhatIsNoRecordingIsRefused(t *testing.T) {
	t.Parallel()
	good, err := sample().Format()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, old, new, want string }{
		{"nothing", string(good), "", "not a recording: it has no hook.yaml and env"},
		{"another form", "recording: 1\n", "recording: 9\n", "hook.yaml: form 9 of recordings is unknown here, which knows form 1"},
		{"a hook elsewhere", "hook: db-relation-changed\n", "hook: ../../x\n", `hook.yaml: hook "../../x" not valid`},
		{"no unit", "unit: shop/0\n", "unit: shop\n", `"shop"`},
		{"no YAML", "unit: shop/0\n", "\tunit\n", "hook.yaml: "},
		{"a file twice", "-- calls/0002 --", "-- calls/0001 --", "calls/0001 is in it twice"},
		{"calls out of order", "-- calls/0002 --", "-- calls/0003 --", "calls/0003: calls are numbered from 1 on, and this one is number 2"},
		{"another file", "-- calls/0002 --", "-- notes --", "notes: file of that name not valid"},
		{"an unknown key", "took: 1ms", "when: 1ms", `calls/0001: line 4: "when" not valid`},
		{"a bad number", "exit: 0", "exit: zero", "calls/0001: line 2: exit: "},
		{"no colon", "took: 1ms", "took 1ms", "calls/0001: line 4: line \"took 1ms\", which has no colon,"},
		{"a bad quote", `"a b"`, `"a b`, "calls/0003: line 1: argv: quoted word"},
		{"no argv", "argv: config-get --format=json\n", "", "calls/0001: call without an argv"},
		{"another block", "stdout, no newline at its end:", "stdout, backwards:", `calls/0001: line 5: ", backwards" after "stdout" not valid`},
		{"a bad variable", "EMPTY=", "EMPTY", "env: line 2: variable \"EMPTY\" not valid"},
		{"a bad state", "U1FMaXRlIGZvcm1hdCAzAA==", "!", "unit-state.db.base64: illegal base64"},
	} {
		text := strings.Replace(string(good), c.old, c.new, 1)
		if text == string(good) {
			t.Errorf("%s: %q isn't in it", c.name, c.old)
		}
		if _, err := recording.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.want)
		}
	}
}

func FuzzParse(f *testing.F) {
	good, err := sample().Format()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("-- hook.yaml --\nrecording: 1\nhook: x\nunit: a/0\nduration: 1s\n-- env --\n-- calls/1 --\nargv: x\nstdout, quoted:\n  \"\\x00\"\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := recording.Parse(b)
		if err != nil {
			return
		}
		roundTrip(t, r)
		roundTrip(t, recording.Redact(r, nil))
		p := recording.NewPlayer(r, "/here", true)
		for _, c := range r.Calls {
			p.Answer(c)
		}
		p.Finish(0)
	})
}

func TestKeptRecordingsReadBackAndTheOldestGo(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if refs, err := recording.List(dir, "shop/0"); err != nil || len(refs) > 0 {
		t.Fatalf("before any run: %v, %v", refs, err)
	}
	k := recording.NewKeeper(durable.Disk{}, dir, "shop/0")
	keep := func(run int64) {
		t.Helper()
		r := sample()
		if r.Run = run; run == 3 {
			r.Message = "\xff"
		}
		if err := k.Keep(r); err != nil {
			t.Fatal(err)
		}
	}
	for run := range int64(recording.Keep) {
		keep(run + 1)
	}
	path := recording.Path(dir, "shop/0")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", st.Mode(), err)
	}
	wantKept(t, dir, recording.Keep, recording.Keep)
	// An agent that comes later goes on, also after what was cut off; a unit that
	// comes later has the numbers of the one before once more.
	if err := os.Truncate(path, size(t, path)-10); err != nil {
		t.Fatal(err)
	}
	k = recording.NewKeeper(durable.Disk{}, dir, "shop/0")
	for run := range int64(recording.Keep) {
		keep(run + 2)
	}
	wantKept(t, dir, recording.Keep+1, recording.Keep+1)
	keep(500)
	wantKept(t, dir, 500, recording.Keep+2)
}

// An agent that is killed in its first recording leaves a half line, which the next one
// doesn't take part in.
func TestARecordingAfterATornOneIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(recording.Path(dir, "shop/0"), []byte(`{"Unit":"shop`), 0o600); err != nil {
		t.Fatal(err)
	}
	r := sample()
	r.Run = 2
	if err := recording.NewKeeper(durable.Disk{}, dir, "shop/0").Keep(r); err != nil {
		t.Fatal(err)
	}
	wantKept(t, dir, 2, 1)
}

// wantKept wants the newest recording and so many of them, and that all read back.
func wantKept(t *testing.T, dir string, newest int64, many int) {
	t.Helper()
	refs, err := recording.List(dir, "shop/0")
	if err != nil {
		t.Fatal(err)
	}
	if len(refs) != many || refs[0].Run != newest {
		t.Errorf("%d are kept, the newest %+v; want %d and %d", len(refs), refs[0], many, newest)
	}
	for _, ref := range refs {
		r, err := ref.Read()
		want := sample()
		if want.Run = ref.Run; ref.Run == 3 {
			want.Message = "\xff"
		}
		if err != nil || !reflect.DeepEqual(normal(r), normal(want)) {
			t.Fatalf("%v\nhave %+v\nwant %+v", err, r, want)
		}
	}
}

func size(t *testing.T, path string) int64 {
	t.Helper()
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return st.Size()
}

// An earlier version had a file for each.
func TestRecordingsOfAnEarlierVersionAreKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	k := recording.NewKeeper(durable.Disk{}, dir, "shop/0")
	former := filepath.Join(dir, "unit-shop-0")
	if err := os.Mkdir(former, 0o700); err != nil {
		t.Fatal(err)
	}
	for run := range int64(3) {
		r := sample()
		r.Run = run + 9
		if err := k.Keep(r); err != nil {
			t.Fatal(err)
		}
		path := recording.Path(dir, "shop/0")
		if err := os.Rename(path, filepath.Join(former, fmt.Sprint(r.Run, ".json"))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(former, "12.json"), []byte(`{"Run":12`), 0o600); err != nil { // torn
		t.Fatal(err)
	}
	if refs, err := recording.List(dir, "shop/0"); err != nil || len(refs) != 4 {
		t.Errorf("%+v, %v", refs, err)
	}
	r := sample()
	r.Run = 13
	if err := recording.NewKeeper(durable.Disk{}, dir, "shop/0").Keep(r); err != nil {
		t.Fatal(err)
	}
	wantKept(t, dir, 13, 4)
	if _, err := os.Stat(former); !os.IsNotExist(err) {
		t.Errorf("the former directory is there: %v", err)
	}
}

func TestALongRunIsCutOff(t *testing.T) {
	t.Parallel()
	began := time.Now()
	r := recording.NewRecorder(began)
	r.Reserve(1000)
	add := func(tool string, at time.Duration, size int) {
		r.Add(recording.Call{Args: []string{tool}, Stdout: bytes.Repeat([]byte("x"), size)}, began.Add(at))
	}
	add("second", 2, recording.MaxSize/2)
	add("first", 1, recording.MaxSize/4)
	if _, cut := r.Calls(); cut {
		t.Fatal("cut off too early")
	}
	add("too-large", 3, recording.MaxSize/2)
	add("small", 4, 1)
	calls, cut := r.Calls()
	if !cut || len(calls) != 2 || calls[0].Args[0] != "first" || calls[1].Args[0] != "second" {
		t.Errorf("cut off %v, %d calls", cut, len(calls))
	}
}

func BenchmarkKeep(b *testing.B) {
	k := recording.NewKeeper(durable.Disk{}, b.TempDir(), "shop/0")
	r := sample()
	for i := 0; b.Loop(); i++ {
		r.Run = int64(i)
		if err := k.Keep(r); err != nil {
			b.Fatal(err)
		}
	}
}
