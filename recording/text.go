package recording

import (
	"encoding/base64"
	"fmt"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
	"github.com/rogpeppe/go-internal/txtar"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

// The files of a recording's txtar form.
const (
	hookFile  = "hook.yaml"
	envFile   = "env"
	stateFile = "unit-state.db.base64"
	callsDir  = "calls/"
)

// formatVersion is that of the txtar form.
const formatVersion = 1

// heading is hook.yaml.
type heading struct {
	Recording int       `yaml:"recording"`
	Hook      anyText   `yaml:"hook"`
	Cause     anyText   `yaml:"cause,omitempty"`
	Unit      anyText   `yaml:"unit"`
	ID        anyText   `yaml:"unit-id,omitempty"`
	Run       int64     `yaml:"run"`
	Charm     anyText   `yaml:"charm"`
	Revision  int       `yaml:"revision"`
	Unitd     anyText   `yaml:"unitd,omitempty"`
	Juju      anyText   `yaml:"juju,omitempty"`
	Started   time.Time `yaml:"started"`
	Duration  anyText   `yaml:"duration"`
	Outcome   anyText   `yaml:"outcome"`
	Exit      int       `yaml:"exit"`
	Signal    anyText   `yaml:"signal,omitempty"`
	Message   anyText   `yaml:"message,omitempty"`
	Redacted  int       `yaml:"redacted"`
	CutOff    bool      `yaml:"cut-off,omitempty"`
	StateNote anyText   `yaml:"state-note,omitempty"`
}

// Format is the txtar form of a recording, for people and for Parse.
func (r *Recording) Format() ([]byte, error) {
	head, err := yaml.Marshal(heading{
		Recording: formatVersion, Hook: anyText(r.Hook), Cause: anyText(r.Cause), Unit: anyText(r.Unit), ID: anyText(r.ID), Run: r.Run,
		Charm: anyText(r.Charm), Revision: r.Revision, Unitd: anyText(r.Unitd), Juju: anyText(r.Juju), Started: r.Started.UTC(),
		Duration: anyText(r.Duration.String()), Outcome: anyText(r.Outcome), Exit: r.Exit, Signal: anyText(r.Signal),
		Message: anyText(r.Message), Redacted: r.Redacted, CutOff: r.CutOff, StateNote: anyText(r.StateNote),
	})
	if err != nil {
		return nil, errors.Annotate(err, "cannot write the recording")
	}
	var env strings.Builder
	for _, v := range r.Env {
		env.WriteString(quoteLine(v) + "\n")
	}
	a := &txtar.Archive{Comment: []byte(r.comment()), Files: []txtar.File{{Name: hookFile, Data: head}, {Name: envFile, Data: []byte(env.String())}}}
	for i, c := range r.Calls {
		a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("%s%04d", callsDir, i+1), Data: []byte(c.format())})
	}
	if r.State != nil {
		a.Files = append(a.Files, txtar.File{Name: stateFile, Data: inColumns(base64.StdEncoding.EncodeToString(r.State))})
	}
	return txtar.Format(a), nil
}

func (r *Recording) comment() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A run of the %s hook of %s, recorded by unitd: its environment, and each\n", r.Hook, r.Unit)
	b.WriteString("hook tool call with its answer. To run this hook of the charm in DIR against it,\nand see the first call that differs:\n\n    unitd replay THIS-FILE --charm DIR\n\n")
	if r.Redacted > 0 {
		b.WriteString("What looks like a secret was replaced by redacted-1, redacted-2 …; look it over\nbefore you give it away.\n\n")
	}
	return b.String()
}

// inColumns breaks text into lines.
func inColumns(s string) []byte {
	const width = 76
	var b strings.Builder
	for ; len(s) > width; s = s[width:] {
		b.WriteString(s[:width] + "\n")
	}
	b.WriteString(s + "\n")
	return []byte(b.String())
}

func (c Call) format() string {
	var b strings.Builder
	fmt.Fprintf(&b, "argv: %s\nexit: %d\nat: %s\ntook: %s\n", quoteWords(c.Args), c.Code, c.At, c.Took)
	if c.StdinSet {
		formatBlock(&b, "stdin", c.Stdin)
	}
	if c.File != nil {
		formatBlock(&b, "file", c.File)
	}
	if len(c.Stdout) > 0 {
		formatBlock(&b, "stdout", c.Stdout)
	}
	if len(c.Stderr) > 0 {
		formatBlock(&b, "stderr", c.Stderr)
	}
	return b.String()
}

// Parse reads the txtar form. The error is NotValid, and names the file in it
// and the line, if it isn't one.
func Parse(b []byte) (*Recording, error) {
	for _, line := range linesOf(b) {
		if strings.TrimSpace(line) == "-- --" { // the reader stumbles over it
			return nil, errors.NewNotValid(nil, "recording: a file without a name")
		}
	}
	r := &Recording{}
	seen := map[string]bool{}
	for _, f := range txtar.Parse(b).Files {
		if seen[f.Name] {
			return nil, errors.NotValidf("recording: %s is in it twice, and is", f.Name)
		}
		seen[f.Name] = true
		var err error
		switch {
		case f.Name == hookFile:
			err = r.parseHeading(f.Data)
		case f.Name == envFile:
			err = r.parseEnv(f.Data)
		case f.Name == stateFile:
			r.State, err = base64.StdEncoding.DecodeString(strings.Join(strings.Fields(string(f.Data)), ""))
		case strings.HasPrefix(f.Name, callsDir):
			err = r.parseCall(f)
		default:
			err = errors.NotValidf("file of that name")
		}
		if err != nil {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("recording: %s: %v", f.Name, err))
		}
	}
	if !seen[hookFile] || !seen[envFile] {
		return nil, errors.NewNotValid(nil, "not a recording: it has no hook.yaml and env (\"unitd record\" makes recordings)")
	}
	return r, nil
}

func (r *Recording) parseHeading(b []byte) error {
	var h heading
	if err := yaml.Unmarshal(b, &h); err != nil {
		return errors.Trace(err)
	}
	if h.Recording != formatVersion {
		return errors.Errorf("form %d of recordings is unknown here, which knows form %d", h.Recording, formatVersion)
	}
	if hook := string(h.Hook); hook == "" || hook == "." || hook == ".." || path.Base(hook) != hook || strings.Contains(hook, "\x00") {
		return errors.NotValidf("hook %q", h.Hook)
	}
	if _, err := model.ParseUnitName(string(h.Unit)); err != nil {
		return errors.Trace(err)
	}
	took, err := time.ParseDuration(string(h.Duration))
	if err != nil {
		return errors.NotValidf("duration %q", h.Duration)
	}
	r.Hook, r.Cause, r.Unit, r.ID, r.Run = string(h.Hook), string(h.Cause), model.UnitName(h.Unit), string(h.ID), h.Run
	r.Charm, r.Revision, r.Unitd, r.Juju = string(h.Charm), h.Revision, string(h.Unitd), string(h.Juju)
	r.Started, r.Duration, r.Outcome, r.Exit = h.Started.UTC(), took, history.Outcome(h.Outcome), h.Exit
	r.Signal, r.Message, r.Redacted = string(h.Signal), string(h.Message), h.Redacted
	r.CutOff, r.StateNote = h.CutOff, string(h.StateNote)
	return nil
}

func (r *Recording) parseEnv(b []byte) error {
	for i, line := range linesOf(b) {
		v, err := unquoteLine(line)
		if err == nil && (strings.Index(v, "=") < 1 || strings.Contains(v, "\x00")) {
			err = errors.NotValidf("variable %.40q", line)
		}
		if err != nil {
			return errors.Annotatef(err, "line %d", i+1)
		}
		r.Env = append(r.Env, v)
	}
	return nil
}

func linesOf(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// parseCall reads the next call; the files' names have their numbers.
func (r *Recording) parseCall(f txtar.File) error {
	n, err := strconv.Atoi(strings.TrimPrefix(f.Name, callsDir))
	if err != nil || n != len(r.Calls)+1 {
		return errors.Errorf("calls are numbered from 1 on, and this one is number %d", len(r.Calls)+1)
	}
	c, err := parseCall(linesOf(f.Data))
	r.Calls = append(r.Calls, c)
	return errors.Trace(err)
}
