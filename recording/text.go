package recording

import (
	"encoding/base64"
	"fmt"
	"path"
	"slices"
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
	askedDir  = "pebble/"
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
	// Of what was asked of Pebbles.
	Containers   []headingContainer `yaml:"containers,omitempty"`
	PebbleNote   anyText            `yaml:"pebble-note,omitempty"`
	PebbleCutOff bool               `yaml:"pebble-cut-off,omitempty"`
}

// headingContainer is a Container.
type headingContainer struct {
	Name  anyText `yaml:"name"`
	State string  `yaml:"state"`
}

// Format is the txtar form of a recording, for people and for Parse.
func (r *Recording) Format() ([]byte, error) {
	head, err := yaml.Marshal(heading{
		Recording: formatVersion, Hook: anyText(r.Hook), Cause: anyText(r.Cause), Unit: anyText(r.Unit), ID: anyText(r.ID), Run: r.Run,
		Charm: anyText(r.Charm), Revision: r.Revision, Unitd: anyText(r.Unitd), Juju: anyText(r.Juju), Started: r.Started.UTC(),
		Duration: anyText(r.Duration.String()), Outcome: anyText(r.Outcome), Exit: r.Exit, Signal: anyText(r.Signal),
		Message: anyText(r.Message), Redacted: r.Redacted, CutOff: r.CutOff, StateNote: anyText(r.StateNote),
		Containers: headingContainers(r.Containers), PebbleNote: anyText(r.AskedNote), PebbleCutOff: r.AskedCutOff,
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
	for i, asked := range r.Asked {
		a.Files = append(a.Files, txtar.File{Name: fmt.Sprintf("%s%04d", askedDir, i+1), Data: []byte(asked.format())})
	}
	if r.State != nil {
		a.Files = append(a.Files, txtar.File{Name: stateFile, Data: inColumns(base64.StdEncoding.EncodeToString(r.State))})
	}
	return txtar.Format(a), nil
}

func headingContainers(all []Container) (out []headingContainer) {
	for _, c := range all {
		out = append(out, headingContainer{anyText(c.Name), c.State})
	}
	return out
}

func (r *Recording) comment() string {
	var b strings.Builder
	fmt.Fprintf(&b, "A run of the %s hook of %s, recorded by unitd: its environment, and each\n", r.Hook, r.Unit)
	b.WriteString("hook tool call with its answer")
	if len(r.Containers) > 0 {
		b.WriteString(", and what it asked of Pebble")
	}
	b.WriteString(". To run this hook of the charm in DIR against it,\nand see the first call that differs:\n\n    unitd replay THIS-FILE --charm DIR\n\n")
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
	fmt.Fprintf(&b, "argv: %s\nexit: %d\nat: %s\ntook: %s\n", QuoteWords(c.Args), c.Code, c.At, c.Took)
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
		case strings.HasPrefix(f.Name, askedDir):
			err = r.parseAsked(f)
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
	r.AskedNote, r.AskedCutOff = string(h.PebbleNote), h.PebbleCutOff
	for _, c := range h.Containers {
		if !slices.Contains([]string{ContainerUp, ContainerDown, ContainerChanged}, c.State) {
			return errors.NotValidf("state %q of a container", c.State)
		}
		if name := string(c.Name); name == "" || name == "." || name == ".." || path.Base(name) != name || strings.Contains(name, "\x00") {
			return errors.NotValidf("container %q", c.Name)
		}
		r.Containers = append(r.Containers, Container{string(c.Name), c.State})
	}
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

// parseAsked reads the next request; the files' names have their numbers.
func (r *Recording) parseAsked(f txtar.File) error {
	n, err := strconv.Atoi(strings.TrimPrefix(f.Name, askedDir))
	if err != nil || n != len(r.Asked)+1 {
		return errors.Errorf("requests are numbered from 1 on, and this one is number %d", len(r.Asked)+1)
	}
	a, err := parseAsked(linesOf(f.Data))
	r.Asked = append(r.Asked, a)
	return errors.Trace(err)
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
