package machine

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/juju/errors"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// FilesQuestion asks an agent for what it alone has of a model: the log, histories and
// recordings. The agent answers with as much of the newest as fits.
type FilesQuestion struct {
	// Names are patterns of files below ModelDir, as path.Match has them: "debug.log",
	// "history/unit-shop-0.jsonl".
	Names []string `json:"names,omitempty"`
	// Newest, where it is more than 0, asks for the log and so many histories, those that have
	// grown last, in place of Names: who may ask an agent that doesn't know of it says both.
	Newest int `json:"newest,omitempty"`
	// Before, where there are any, asks in place of Names for what of these files comes before
	// Files.Begins.
	Before map[string]LogMark `json:"before,omitempty"`
	// After, where it is set, asks for the lines of the log after a mark, and for no files.
	// The agent waits a while for some, or for runs after RunsAfter, if that is set too.
	After     *LogMark  `json:"after,omitempty"`
	RunsAfter *RunsMark `json:"runs-after,omitempty"`
	// AtOnce: it doesn't wait.
	AtOnce bool `json:"at-once,omitempty"`
}

// Files are files of an agent by their names below ModelDir: of each the end, from the
// beginning of a line. Cut says that there is more.
type Files struct {
	Files map[string][]byte `json:"files,omitempty"`
	Cut   bool              `json:"cut,omitempty"`
	// Begins says where those begin of which there is more; an agent that doesn't say so can't be
	// asked for it.
	Begins map[string]LogMark `json:"begins,omitempty"`
	// Log is where the log ended.
	Log LogMark `json:"log"`
	// Lines are those of the log after a mark that was asked for.
	Lines []byte `json:"lines,omitempty"`
	// Runs is the place of the runs that come after what is here. Ran are those after a mark
	// that was asked for; Missed: some that came after it are in the histories alone.
	Runs   RunsMark        `json:"runs,omitzero"`
	Ran    []history.Entry `json:"ran,omitempty"`
	Missed bool            `json:"missed,omitempty"`
	// Session is where a session can begin that was asked for.
	Session *SessionDoor `json:"session,omitempty"`
	// Error says why there is nothing.
	Error string `json:"error,omitempty"`
	// lost are files of which there is more that can't be had.
	lost map[string]bool
}

const (
	// filesAtMost is how much of each file is sent at first, and allAtMost how much of all, in
	// bytes; it is halved until everything fits into sentAtMost, which is what a document
	// can take.
	filesAtMost = 8 << 20
	allAtMost   = 16 << 20
	sentAtMost  = store.MaxValue * 2 / 3
	// leastOfEach is what is sent of each file, in bytes: with less there is hardly a line.
	leastOfEach = 256
	// readAtMost is what an answer is believed to have, in bytes.
	readAtMost = 64 << 20
)

// AskFiles asks the agent of a machine, or of state.ManagingHost, and waits for it until ctx is
// done.
func AskFiles(ctx context.Context, m *state.Model, machine string, q FilesQuestion) (Files, error) {
	answer, err := m.Ask(ctx, machine, q)
	if err != nil {
		return Files{}, errors.Trace(err)
	}
	files, err := unpack(answer)
	return files, errors.Trace(err)
}

func unpack(answer json.RawMessage) (files Files, err error) {
	var packed []byte
	if err := json.Unmarshal(answer, &packed); err != nil {
		return files, errors.Annotate(err, "cannot read the answer")
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return files, errors.Annotate(err, "cannot read the answer")
	}
	if err := json.NewDecoder(io.LimitReader(z, readAtMost)).Decode(&files); err != nil {
		return files, errors.Annotate(err, "cannot read the answer")
	}
	if files.Error != "" {
		return files, errors.New(files.Error)
	}
	return files, nil
}

// Only leaves the files that patterns name; see FilesQuestion.
func (f Files) Only(names []string) {
	maps.DeleteFunc(f.Files, func(name string, _ []byte) bool {
		return !slices.ContainsFunc(names, func(pattern string) bool {
			is, _ := path.Match(pattern, name)
			return is
		})
	})
}

// answering answers what other hosts ask this agent. It works beside the units' agents.
type answering struct {
	model   *state.Model
	machine string
	dir     string
	recent  *recent
	asked   chan struct{} // has room for one
	session func(model, print string) (SessionDoor, error)
	log     func(msg string, args ...any)

	wait sync.WaitGroup
	mu   sync.Mutex
	busy map[string]bool // the questions that are being answered
}

func (a *modelAgent) newAnswering() *answering {
	who := state.ManagingHost
	if a.Machine != nil {
		who = a.Machine.ID
	}
	return &answering{model: a.model, machine: who, dir: a.dir, recent: a.recent, asked: make(chan struct{}, 1), session: a.Session, log: a.log.Warn, busy: map[string]bool{}}
}

// heed has it look for questions, if a change may have brought some.
func (a *answering) heed(c state.Change) {
	if !c.Asked[a.machine] && !c.Resync {
		return
	}
	select {
	case a.asked <- struct{}{}:
	default:
	}
}

// answersAtOnce is how many questions are answered at the same time; others wait. Most of them
// are of people who follow a log or a page, and wait for something to happen.
const answersAtOnce = 64

// run answers until ctx ends.
func (a *answering) run(ctx context.Context) {
	defer a.wait.Wait()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.asked:
		}
		questions, err := a.model.Questions(ctx, a.machine)
		if err != nil {
			if ctx.Err() == nil {
				a.log("cannot see what another host asks", "err", err)
			}
			continue
		}
		for _, q := range questions {
			a.begin(ctx, q)
		}
	}
}

// begin answers a question, unless that is being done.
func (a *answering) begin(ctx context.Context, q state.Question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.busy[q.ID] || len(a.busy) >= answersAtOnce {
		return
	}
	a.busy[q.ID] = true
	a.wait.Go(func() {
		if err := a.answer(ctx, q); err != nil && ctx.Err() == nil {
			a.log("cannot answer what another host asks", "err", err)
		}
		a.mu.Lock()
		defer a.mu.Unlock()
		delete(a.busy, q.ID)
		if len(a.busy) == answersAtOnce-1 { // one may wait
			a.heed(state.Change{Resync: true})
		}
	})
}

func (a *answering) answer(ctx context.Context, q state.Question) error {
	files, err := a.find(ctx, q)
	if err == nil {
		err = a.model.Answer(ctx, q, files)
	}
	if errors.Is(err, store.ErrTooLarge) {
		if files, err = pack(Files{Error: "it is too much to be sent: run the command there"}); err == nil {
			err = a.model.Answer(ctx, q, files)
		}
	}
	return errors.Trace(err)
}

// find is what is sent: JSON that is packed, as a document.
func (a *answering) find(ctx context.Context, q state.Question) (json.RawMessage, error) {
	var ask struct {
		FilesQuestion
		sessionQuestion
	}
	if err := json.Unmarshal(q.Body, &ask); err != nil {
		return pack(Files{Error: "the agent doesn't know what it is asked: it is of another version"})
	}
	if ask.Print != "" {
		return pack(a.openSession(ask.Print))
	}
	if ask.After != nil {
		news, err := a.await(ctx, ask.FilesQuestion)
		if err != nil {
			return pack(Files{Error: err.Error()})
		}
		return packRuns(news)
	}
	runs := a.recent.mark() // before the files are read, which have all that come before it
	names, err := namesOf(a.dir, ask.Names)
	if ask.Newest > 0 {
		names, err = newestFiles(a.dir, ask.Newest)
	}
	if err != nil {
		return pack(Files{Error: err.Error()})
	}
	if len(ask.Before) > 0 {
		names, err = namesBefore(a.dir, ask.Before)
	}
	if err != nil {
		return pack(Files{Error: err.Error()})
	}
	packed, err := packFiles(ctx, a.dir, names, ask.Before, runs, min(filesAtMost, allAtMost/max(1, len(names))), sentAtMost)
	if err != nil {
		return pack(Files{Error: err.Error()})
	}
	return packed, nil
}

// packFiles packs the ends of files, or of what comes before a mark, most bytes of each or as much
// as fits.
func packFiles(ctx context.Context, dir string, names []string, before map[string]LogMark, runs RunsMark, most, fits int) (json.RawMessage, error) {
	for ; ; most /= 2 {
		files, err := readFiles(dir, names, before, int64(most))
		if err != nil {
			return nil, errors.Trace(err)
		}
		files.Runs = runs
		packed, err := pack(files)
		if err != nil || len(packed) <= fits || most < leastOfEach || ctx.Err() != nil {
			return packed, errors.Trace(err)
		}
	}
}

// packRuns packs what has come. If it is too much, the runs are to be had from the histories.
func packRuns(news Files) (json.RawMessage, error) {
	packed, err := pack(news)
	if err == nil && len(packed) > sentAtMost {
		news.Ran, news.Missed = nil, true
		packed, err = pack(news)
	}
	return packed, errors.Trace(err)
}

func pack(f Files) (json.RawMessage, error) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if err := json.NewEncoder(z).Encode(f); err != nil {
		return nil, errors.Trace(err)
	}
	if err := z.Close(); err != nil {
		return nil, errors.Trace(err)
	}
	packed, err := model.EncodeJSON(b.Bytes())
	return packed, errors.Trace(err)
}
