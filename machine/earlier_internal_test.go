package machine

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// longLog is more than fits into an answer, as it can't be packed well.
func longLog() string {
	var b strings.Builder
	for i := 0; b.Len() < 1600<<10; i++ {
		fmt.Fprintf(&b, "%d", i)
		for j := range 50 {
			fmt.Fprintf(&b, " %x", uint64(i*50+j+1)*0x9e3779b97f4a7c15)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// TestWhatIsTooMuchForAnAnswerComesInMoreOfThem: in the end it is all that there was when it was asked for
// first, also if the log was set aside meanwhile; not if it is gone.
func TestWhatIsTooMuchForAnAnswerComesInMoreOfThem(t *testing.T) {
	t.Parallel()
	text := longLog()
	for what, c := range map[string]struct {
		meanwhile func(path string) error
		whole     bool
	}{
		"nothing happens":     {func(string) error { return nil }, true},
		"a line is half done": {func(path string) error { return os.WriteFile(path, []byte(text+"ne"), 0o600) }, true},
		"it is set aside": {func(path string) error {
			if err := os.Rename(path, path+".1"); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("another one\n"), 0o600)
		}, true},
		"it is just being set aside": {func(path string) error { return os.Rename(path, path+".1") }, true},
		"a link is where it was set aside": {func(path string) error {
			if err := os.Rename(path, path+".other"); err != nil {
				return err
			}
			return os.Symlink(path+".other", path+".1")
		}, false},
		"it is another one": {func(path string) error { return os.WriteFile(path, []byte("another one\n"+text), 0o600) }, false},
		"it is gone":        {os.Remove, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := modelDir(t, map[string]string{"debug.log": text + "half a l", "history/unit-shop-0.jsonl": "{}\n"})
			a := &answering{dir: dir, recent: newRecent()}
			ask := func(q FilesQuestion) Files { return answerTo(t, a, q) }
			files := ask(FilesQuestion{Names: []string{"debug.log", "history/*"}})
			if len(files.Begins) != 1 || !files.Cut {
				t.Fatalf("there is more of %v, cut: %t", files.Begins, files.Cut)
			}
			if err := c.meanwhile(filepath.Join(dir, "debug.log")); err != nil {
				t.Fatal(err)
			}
			rounds := 0
			for before := files.Earlier(); len(before) > 0; before = files.Earlier() {
				files.Precede(before, ask(FilesQuestion{Before: before}))
				rounds++
			}
			if got := string(files.Files["debug.log"]); (got == text) != c.whole || !strings.HasSuffix(text, got) || files.Cut == c.whole || c.whole && rounds < 2 {
				t.Errorf("%d of %d bytes, cut: %t, after %d rounds", len(got), len(text), files.Cut, rounds)
			}
			if string(files.Files["history/unit-shop-0.jsonl"]) != "{}\n" {
				t.Error("the history isn't there")
			}
		})
	}
}

// TestWhatIsShownHasNoHoles: a log that was set aside is asked for once the one after it is whole, and
// dropped where that isn't.
func TestWhatIsShownHasNoHoles(t *testing.T) {
	t.Parallel()
	two := func() Files {
		return Files{Files: map[string][]byte{"debug.log": []byte("4"), "debug.log.1": []byte("2")}, Cut: true,
			Begins: map[string]LogMark{"debug.log": {"b", 1}, "debug.log.1": {"a", 1}}}
	}
	f := two()
	before := f.Earlier()
	if len(before) != 1 || before["debug.log"].Offset != 1 {
		t.Errorf("it asks for %v", before)
	}
	f.Precede(before, Files{Files: map[string][]byte{"debug.log": []byte("3")}})
	if before = f.Earlier(); len(before) != 1 || before["debug.log.1"].Offset != 1 || !f.Cut {
		t.Errorf("then it asks for %v", before)
	}
	f.Precede(before, Files{Files: map[string][]byte{"debug.log.1": []byte("1")}})
	if f.WithoutHoles(); string(f.Files["debug.log.1"])+string(f.Files["debug.log"]) != "1234" || f.Cut || len(f.Earlier()) > 0 {
		t.Errorf("it has %s, cut: %t", f.Files, f.Cut)
	}
	for what, earlier := range map[string]Files{
		"nothing":           {},
		"what comes later":  {Files: map[string][]byte{"debug.log": []byte("3")}, Begins: map[string]LogMark{"debug.log": {"b", 1}}},
		"another file":      {Files: map[string][]byte{"debug.log": []byte("3")}, Begins: map[string]LogMark{"debug.log": {"c", 0}}},
		"what wasn't asked": {Files: map[string][]byte{"other": []byte("3")}, Begins: map[string]LogMark{"other": {"c", 1}}},
	} {
		f := two()
		f.Precede(f.Earlier(), earlier)
		if f.WithoutHoles(); len(f.Files) != 1 || string(f.Files["debug.log"]) != "4" || len(f.Earlier()) > 0 || !f.Cut {
			t.Errorf("%s: it has %s, and asks for %v", what, f.Files, f.Earlier())
		}
	}
	none := Files{Begins: map[string]LogMark{"debug.log": {"b", 1}}} // by somebody who means it badly
	none.Precede(none.Earlier(), Files{Files: map[string][]byte{"debug.log": []byte("3")}})
	if len(none.Earlier()) > 0 || !none.Cut {
		t.Errorf("it asks for %v", none.Earlier())
	}
}
