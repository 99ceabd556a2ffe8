package render

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/unitd/unitd/bench"
)

func measured() bench.Report {
	return bench.Report{
		System: "linux/amd64", Processors: 2, Files: "/tmp", FileSystem: "ext4",
		Figures: []bench.Figure{
			{Name: "hook", What: "a hook", Floor: "its process alone, and as many words as there is no room for in one line", Took: 2400 * time.Microsecond, Least: 1050 * time.Microsecond, Count: 5},
			{Name: "crowd-cpu", What: strings.Repeat("a long name ", 8), Floor: "little", Took: 123456 * time.Microsecond, Least: 9876, Count: 1, Hooks: 8},
		},
	}
}

func TestAFigureIsShownAboveItsFloor(t *testing.T) {
	t.Parallel()
	want := `unitd 1.2.3, linux/amd64, 2 processors
files in /tmp (ext4)

Figure     Median, with that of its floor below               Time     Ratio
hook       a hook                                          2.40 ms      2.29
             its process alone, and as many words as       1.05 ms
             there is no room for in one line
crowd-cpu  a long name a long name a long name a long       123 ms  12500.61
           name a long name a long name a long name a
           long name
             little                                        9.88 µs
`
	got := BenchText(measured(), "1.2.3")
	if got != want {
		t.Errorf("have\n%s", got)
	}
	for line := range strings.Lines(got) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("%q is too long", line)
		}
	}
}

func TestFilesInMemoryAreSaid(t *testing.T) {
	t.Parallel()
	r := measured()
	if text := BenchText(r, ""); strings.Contains(text, "memory") {
		t.Error(text)
	}
	r.FileSystem = "tmpfs"
	text := BenchText(r, "")
	if !strings.Contains(text, "memory") {
		t.Error(text)
	}
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(line) > 81 {
			t.Errorf("%q is too long", line)
		}
	}
}

func TestAFigureHasTheSameKeysInJSON(t *testing.T) {
	t.Parallel()
	b, err := Encode("json", BenchTree(measured(), "1.2.3"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"count":5,"floor":"its process alone`, `"floor-ms":1.05,"ms":2.4,"name":"hook","ratio":2.28`,
		`"floor-ms":0.009876,"hooks":8,"ms":123.456,"name":"crowd-cpu"`, `"file-system":"ext4","files":"/tmp","processors":2,"system":"linux/amd64","version":"1.2.3"`,
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("no %s in %s", want, b)
		}
	}
}
