package machine

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/unitd/unitd/state"
)

// longLog is more than fits into an answer, as it can't be packed well.
func longLog() string {
	var b strings.Builder
	for i := 0; b.Len() < 3<<20; i++ {
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
		"it is another one": {func(path string) error { return os.WriteFile(path, []byte("another one\n"+text), 0o600) }, false},
		"it is gone":        {os.Remove, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			dir := modelDir(t, map[string]string{"debug.log": text + "half a l", "history/unit-shop-0.jsonl": "{}\n"})
			a := &answering{dir: dir, recent: newRecent()}
			ask := func(q FilesQuestion) Files {
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
			files := ask(FilesQuestion{Names: []string{"debug.log", "history/*"}})
			if len(files.Begins) != 1 || !files.Cut {
				t.Fatalf("there is more of %v, cut: %t", files.Begins, files.Cut)
			}
			if err := c.meanwhile(filepath.Join(dir, "debug.log")); err != nil {
				t.Fatal(err)
			}
			rounds := 0
			for ; len(files.Begins) > 0; rounds++ {
				if more := files.Precede(ask(FilesQuestion{Before: files.Begins})); more != c.whole {
					t.Fatalf("more: %t", more)
				}
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
