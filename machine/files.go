package machine

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/state"
	"github.com/unitd/unitd/state/store"
)

// FilesQuestion asks an agent for what it alone has of a model: the log, histories and
// recordings. The agent answers with as much of the newest as fits.
type FilesQuestion struct {
	// Names are patterns of files below ModelDir, as path.Match has them: "debug.log",
	// "history/unit-shop-0.jsonl*".
	Names []string `json:"names"`
	// Newest is how many bytes of the end of each file are wanted; 0: all that fit.
	Newest int64 `json:"newest,omitempty"`
}

// Files are files of an agent by their names below ModelDir: of each the end, from the
// beginning of a line. Cut says that there is more.
type Files struct {
	Files map[string][]byte `json:"files"`
	Cut   bool              `json:"cut,omitempty"`
	// Error says why there is nothing.
	Error string `json:"error,omitempty"`
}

const (
	// filesAtMost is how much of each file is sent at first, in bytes; it is halved until
	// everything fits into sentAtMost, which is what a document can take.
	filesAtMost = 8 << 20
	sentAtMost  = store.MaxValue * 2 / 3
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
	if err := json.NewDecoder(z).Decode(&files); err != nil {
		return files, errors.Annotate(err, "cannot read the answer")
	}
	if files.Error != "" {
		return files, errors.New(files.Error)
	}
	return files, nil
}

// answering answers what other hosts ask this agent. It works beside the units' agents.
type answering struct {
	model   *state.Model
	machine string
	dir     string
	asked   chan struct{} // has room for one
	log     func(msg string, args ...any)
}

func (a *modelAgent) newAnswering() *answering {
	who := state.ManagingHost
	if a.Machine != nil {
		who = a.Machine.ID
	}
	return &answering{model: a.model, machine: who, dir: a.dir, asked: make(chan struct{}, 1), log: a.log.Warn}
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

// run answers until ctx ends.
func (a *answering) run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.asked:
		}
		if err := a.answerAll(ctx); err != nil && ctx.Err() == nil {
			a.log("cannot answer what another host asks", "err", err)
		}
	}
}

func (a *answering) answerAll(ctx context.Context) error {
	questions, err := a.model.Questions(ctx, a.machine)
	if err != nil {
		return errors.Trace(err)
	}
	for _, q := range questions {
		answer, err := a.answer(q)
		if err != nil {
			return errors.Trace(err)
		}
		if err := a.model.Answer(ctx, q, answer); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

// answer is what is sent: JSON that is packed, as a document.
func (a *answering) answer(q state.Question) (json.RawMessage, error) {
	var ask FilesQuestion
	if err := json.Unmarshal(q.Body, &ask); err != nil {
		return pack(Files{Error: "the agent doesn't know what it is asked: it is of another version"})
	}
	most := int64(filesAtMost)
	if ask.Newest > 0 {
		most = min(most, ask.Newest)
	}
	for {
		files, err := readFiles(a.dir, ask.Names, most)
		if err != nil {
			return pack(Files{Error: err.Error()})
		}
		packed, err := pack(files)
		if err != nil || len(packed) <= sentAtMost || most < 1024 {
			return packed, err
		}
		most /= 2
	}
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

// readFiles reads the ends of the files of a model's directory that patterns name. What
// isn't the log, a history or a recording is nobody's business, and links aren't followed.
func readFiles(dir string, patterns []string, most int64) (Files, error) {
	files := Files{Files: map[string][]byte{}}
	for _, pattern := range patterns {
		folder, _ := path.Split(pattern)
		if folder = strings.TrimSuffix(folder, "/"); !slices.Contains([]string{"", "history", "recordings"}, folder) {
			return files, errors.NotValidf("a file %q", pattern)
		}
		names, err := fs.Glob(os.DirFS(dir), pattern)
		if err != nil {
			return files, errors.NotValidf("a file %q", pattern)
		}
		for _, name := range names {
			if folder == "" && !strings.HasPrefix(name, logName) {
				continue
			}
			text, cut, err := readEnd(filepath.Join(dir, filepath.FromSlash(name)), most)
			if errors.Is(err, fs.ErrNotExist) {
				continue // it has just been set aside
			}
			if err != nil {
				return files, errors.Trace(err)
			}
			if text != nil {
				files.Files[name], files.Cut = text, files.Cut || cut
			}
		}
	}
	return files, nil
}

// logName is the log of a model; see LogPath.
const logName = "debug.log"

// readEnd is the end of a file, from the beginning of a line.
func readEnd(name string, most int64) (text []byte, cut bool, err error) {
	if st, err := os.Lstat(name); err != nil || !st.Mode().IsRegular() {
		return nil, false, errors.Trace(err)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	if from := st.Size() - most; from > 0 {
		if _, err := f.Seek(from-1, io.SeekStart); err != nil {
			return nil, false, errors.Trace(err)
		}
		cut = true
	}
	text, err = io.ReadAll(io.LimitReader(f, most+1))
	if err != nil {
		return nil, false, errors.Trace(err)
	}
	if cut {
		_, text, _ = bytes.Cut(text, []byte("\n"))
	}
	return text, cut, nil
}
