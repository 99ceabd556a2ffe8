package machine

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/clock"
	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store/sqlite"
)

func TestRunsAfterAMark(t *testing.T) {
	t.Parallel()
	r := newRecent()
	begin := r.mark()
	for n := range int64(3) {
		r.add(history.Entry{Run: n})
	}
	runs, next, missed := r.after(begin)
	if len(runs) != 3 || missed || runs[2].Run != 2 {
		t.Errorf("after the beginning: %v, %v", runs, missed)
	}
	if runs, again, missed := r.after(next); len(runs) != 0 || missed || again != next {
		t.Errorf("after the end: %v, %v", runs, missed)
	}
	for n := range int64(5 * keptRuns) {
		r.add(history.Entry{Run: 3 + n})
	}
	if runs, _, missed := r.after(next); len(runs) != 0 || !missed {
		t.Errorf("after what isn't kept any more: %d runs, %v", len(runs), missed)
	}
	recently := RunsMark{r.mark().Agent, r.mark().Next - keptRuns}
	if runs, _, missed := r.after(recently); len(runs) != keptRuns || missed || runs[0].Run != 3+4*keptRuns {
		t.Errorf("after what is kept: %d runs, %v", len(runs), missed)
	}
	for _, other := range []RunsMark{{}, {Agent: "another", Next: 1}, {Agent: next.Agent, Next: r.mark().Next + 1}} {
		if _, mark, missed := r.after(other); !missed || mark != r.mark() {
			t.Errorf("after %v: %v, %v", other, mark, missed)
		}
	}
}

// TestTheNewestIsPutIntoTheModel, within a bound, if there is something new.
func TestTheNewestIsPutIntoTheModel(t *testing.T) {
	t.Parallel()
	store, err := sqlite.Open(filepath.Join(t.TempDir(), "store.db"), sqlite.Options{Clock: clock.WallClock})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	model, err := state.NewController(store, clock.WallClock).AddModel(t.Context(), "m")
	if err != nil {
		t.Fatal(err)
	}
	doc, text, err := model.AddMachine(t.Context(), state.ManualProvider, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	token, err := state.ParseToken(text)
	if err == nil {
		err = model.JoinMachine(t.Context(), token, "one", "manual:here")
	}
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Shipped(t.Context(), model, doc.ID); !errors.Is(err, errors.NotFound) {
		t.Errorf("nothing was put there: %v", err)
	}
	files, random := map[string]string{}, rand.New(rand.NewPCG(1, 2))
	noise := func(lines int) string {
		var b strings.Builder
		for range lines {
			fmt.Fprintf(&b, "%x\n", random.Uint64())
		}
		return b.String()
	}
	files["debug.log"] = noise(10_000)
	for n := range 2 * shippedUnits {
		files[fmt.Sprintf("history/unit-shop-%d.jsonl", n)] = noise(1000)
	}
	files["history/unit-shop-0.jsonl.1"] = noise(10)
	dir := modelDir(t, files)
	for n := range 2 * shippedUnits {
		at := time.Unix(int64(1_700_000_000+n), 0)
		if err := os.Chtimes(filepath.Join(dir, "history", fmt.Sprintf("unit-shop-%d.jsonl", n)), at, at); err != nil {
			t.Fatal(err)
		}
	}
	s := &shipping{model: model, machine: doc.ID, agent: "one", dir: dir, recent: newRecent()}
	ship := func() (Files, time.Time) {
		if err := s.ship(t.Context()); err != nil {
			t.Fatal(err)
		}
		got, at, err := Shipped(t.Context(), model, doc.ID)
		if err != nil {
			t.Fatal(err)
		}
		return got, at
	}
	got, at := ship()
	if n, _, err := model.Newest(t.Context(), doc.ID); err != nil || len(n.Body) > shippedAtMost || len(n.Body) < shippedAtMost/8 {
		t.Errorf("%d bytes were put there, %v", len(n.Body), err)
	}
	if len(got.Files) != shippedUnits+1 || !got.Cut || got.Log == (LogMark{}) {
		t.Errorf("there are %d files, cut: %v, the log up to %v", len(got.Files), got.Cut, got.Log)
	}
	for name, text := range got.Files {
		if len(text) == 0 || !strings.HasSuffix(files[name], string(text)) {
			t.Errorf("%s isn't the end of the file: %q", name, text)
		}
	}
	newest := fmt.Sprintf("history/unit-shop-%d.jsonl", 2*shippedUnits-1)
	if got.Files[newest] == nil || got.Files["history/unit-shop-0.jsonl"] != nil {
		t.Error("these aren't the histories that have grown last")
	}
	if _, again := ship(); !again.Equal(at) {
		t.Error("it was put there anew, with nothing new in it")
	}
	s.recent.add(history.Entry{Unit: "shop/0", Run: 1})
	if _, again := ship(); again.Equal(at) {
		t.Error("what is new wasn't put there")
	}

	s.recent.add(history.Entry{Unit: "shop/0", Run: 2})
	for _, other := range []*shipping{
		{machine: doc.ID, agent: "another"}, {machine: "7", agent: "one"},
	} {
		other.model, other.dir, other.recent = model, dir, newRecent()
		if err := other.ship(t.Context()); !errors.Is(err, errors.NotFound) {
			t.Errorf("another agent may put something there: %v", err)
		}
	}
	if err := model.Destroy(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	if gone, err := model.RemoveIfEmpty(t.Context()); err != nil || !gone {
		t.Fatalf("the model is gone: %v, %v", gone, err)
	}
	s.machine, s.agent = state.ManagingHost, ""
	if err := s.ship(t.Context()); !errors.Is(err, errors.NotFound) {
		t.Errorf("there is a document of a model that is gone: %v", err)
	}
}

// TestWhoAsksForNewsHearsOfRuns, not only of lines.
func TestWhoAsksForNewsHearsOfRuns(t *testing.T) {
	t.Parallel()
	a := &answering{dir: modelDir(t, map[string]string{"debug.log": "one\n", "history/unit-shop-0.jsonl": "{}\n"}), recent: newRecent()}
	ask := func(q FilesQuestion) Files { return answerTo(t, a, q) }
	all := ask(FilesQuestion{Names: []string{"debug.log", "history/*"}})
	if len(all.Files) != 2 || all.Runs != a.recent.mark() {
		t.Errorf("all there is: %+v", all)
	}
	a.recent.add(history.Entry{Unit: "shop/0", Run: 7})
	news := ask(FilesQuestion{After: &all.Log, RunsAfter: &all.Runs})
	if len(news.Ran) != 1 || news.Ran[0].Run != 7 || len(news.Lines) != 0 || news.Missed || news.Runs != a.recent.mark() || news.Log != all.Log {
		t.Errorf("what is new: %+v", news)
	}
	a.recent = newRecent()
	if news := ask(FilesQuestion{After: &all.Log, RunsAfter: &all.Runs}); !news.Missed || news.Runs != a.recent.mark() {
		t.Errorf("by another agent: %+v", news)
	}
	random := rand.New(rand.NewPCG(3, 4))
	for n := range int64(keptRuns) {
		var message strings.Builder
		for range 100 {
			fmt.Fprintf(&message, "%x", random.Uint64())
		}
		a.recent.add(history.Entry{Unit: "shop/0", Run: n, Message: message.String()})
	}
	mark := RunsMark{Agent: a.recent.agent}
	if news := ask(FilesQuestion{After: &all.Log, RunsAfter: &mark}); !news.Missed || len(news.Ran) != 0 {
		t.Errorf("what is too much to be sent: %d runs, missed: %v", len(news.Ran), news.Missed)
	}
}
