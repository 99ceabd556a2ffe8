package machine

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/state"
)

// modelDir is a model's directory with these files.
func modelDir(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestWhichFilesAreSent(t *testing.T) {
	t.Parallel()
	dir := modelDir(t, map[string]string{
		"debug.log": "one\ntwo\n", "debug.log.1": "zero\n", "history/unit-shop-0.jsonl": "{}\n", "recordings/unit-shop-0.jsonl": "{}\n",
		"agents/unit-shop-0/journal-0": "secret", "other": "secret",
	})
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte("secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"history/link", "debug.log.link"} {
		if err := os.Symlink(outside, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for pattern, want := range map[string]string{
		"debug.log":              "debug.log",
		"debug.log.?":            "debug.log.1",
		"history/unit-shop-*":    "history/unit-shop-0.jsonl",
		"recordings/*":           "recordings/unit-shop-0.jsonl",
		"o*":                     "",
		"history/l*":             "",
		"debug.log.l*":           "",
		"agents/*/journal-0":     "error",
		"../x":                   "error",
		"history/../other":       "error",
		"/etc/passwd":            "error",
		"history/[":              "error",
		"history/*/x":            "error",
		"history/unit-nobody-0*": "",
	} {
		var files Files
		names, err := namesOf(dir, []string{pattern})
		if err == nil {
			files, err = readFiles(dir, names, nil, 1<<20)
		}
		got := strings.Join(sortedNames(files), " ")
		if err != nil {
			got = "error"
		}
		if got != want {
			t.Errorf("%q: %q, %v; not %q", pattern, got, err, want)
		}
	}
	files, err := readFiles(dir, []string{"debug.log"}, nil, 5)
	if err != nil || string(files.Files["debug.log"]) != "two\n" || !files.Cut {
		t.Errorf("the end of the log: %+v, %v", files, err)
	}
}

// answerTo is what an agent answers to a question.
func answerTo(t *testing.T, a *answering, q FilesQuestion) Files {
	t.Helper()
	body, err := json.Marshal(q)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.find(t.Context(), state.Question{Body: body})
	if err != nil {
		t.Fatal(err)
	}
	files, err := unpack(answer)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func sortedNames(f Files) []string {
	var names []string
	for name := range f.Files {
		names = append(names, name)
	}
	return names
}

// TestWhatIsSentFits: text that can't be packed well is cut until a document can take it, from
// the beginning of a line.
func TestWhatIsSentFits(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	random := rand.New(rand.NewPCG(1, 2))
	for text.Len() < 3<<20 {
		text.WriteString("line ")
		for range 200 {
			text.WriteByte("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[random.IntN(62)])
		}
		text.WriteByte('\n')
	}
	a := &answering{dir: modelDir(t, map[string]string{"debug.log": text.String()}), recent: newRecent()}
	ask, err := json.Marshal(FilesQuestion{Names: []string{"debug.log*"}})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := a.find(t.Context(), state.Question{Body: ask})
	if err != nil || len(answer) > sentAtMost || len(answer) < sentAtMost/4 {
		t.Errorf("an answer of %d bytes, %v", len(answer), err)
	}
	files, err := unpack(answer)
	if log := string(files.Files["debug.log"]); err != nil || !strings.HasPrefix(log, "line ") || !strings.HasSuffix(text.String(), log) || !files.Cut {
		t.Errorf("%d bytes of the log, cut: %v, %v", len(log), files.Cut, err)
	}
	for body, wrong := range map[string]string{`[]`: "another version", `{"names": ["other"]}`: "", `{"names": ["agents/x"]}`: "not valid"} {
		answer, err := a.find(t.Context(), state.Question{Body: json.RawMessage(body)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := unpack(answer); wrong == "" && err != nil || wrong != "" && (err == nil || !strings.Contains(err.Error(), wrong)) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// TestNewLinesOfALogThatIsSetAside: none is lost, and none comes twice.
func TestNewLinesOfALogThatIsSetAside(t *testing.T) {
	t.Parallel()
	dir := modelDir(t, map[string]string{"debug.log": "one\ntwo\n"})
	path := filepath.Join(dir, logName)
	write := func(text string) {
		f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err == nil {
			_, err = f.WriteString(text)
			f.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	files, err := readFiles(dir, []string{logName}, nil, 4)
	if err != nil || string(files.Files[logName]) != "two\n" {
		t.Fatalf("%+v, %v", files, err)
	}
	mark, got := files.Log, ""
	read := func() {
		t.Helper()
		text, next, err := newLines(path, mark)
		if err != nil {
			t.Fatal(err)
		}
		got, mark = got+string(text), next
	}
	read()
	write("three\nfo")
	read()
	read()
	write("ur\n")
	if err := os.Rename(path, path+".1"); err != nil {
		t.Fatal(err)
	}
	read() // what is left of the former one
	read()
	write("five\n")
	read()
	read()
	if got != "three\nfour\nfive\n" {
		t.Errorf("new lines: %q", got)
	}
	got, mark = "", LogMark{Offset: LogEnd}
	read()
	write("six\n")
	read()
	if got != "six\n" {
		t.Errorf("lines after the end: %q", got)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	got = ""
	write("seven\n")
	read()
	if got != "seven\n" {
		t.Errorf("lines of a log that was cut: %q", got)
	}
	got = ""
	long := strings.Repeat("long", linesAtMost/2)
	write(long)
	read() // it hasn't ended
	if got != "" {
		t.Errorf("of a line that hasn't ended %d bytes come", len(got))
	}
	write("\neight\n")
	read()
	read()
	if want := long[:linesAtMost-1] + "\neight\n"; got != want {
		t.Errorf("a line that is too long, and the next: %d bytes, want %d", len(got), len(want))
	}
}
