package recording

import (
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/footprint"
	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/model"
)

const (
	// MaxSize bounds what is kept of one run, in bytes.
	MaxSize = 1 << 20
	// MaxState is the size in bytes from which on the stored state is left out.
	MaxState = 256 << 10
	// StateFile is where Ops keeps what charms remember, in the charm directory.
	StateFile = ".unit-state.db"
)

// Recording is one hook run.
type Recording struct {
	Unit model.UnitName
	// ID tells the unit from former and later ones of the same name.
	ID  string
	Run int64
	// Hook is its name, "db-relation-joined"; Cause says for people why it ran.
	Hook, Cause string
	Charm       string // its name
	Revision    int
	// Unitd is the version of what has recorded it, Juju the one that the charm
	// was told.
	Unitd, Juju string

	Started  time.Time
	Duration time.Duration
	Outcome  history.Outcome
	// Exit is the exit code of the hook's executable; -1 where a signal, then
	// Signal, ended it or it didn't start.
	Exit    int
	Signal  string
	Message string // of a failure

	// Env is the environment, NAME=value each.
	Env   []string
	Calls []Call
	// State is StateFile as it was before the run; nil: there was none.
	// StateNote says why it was left out, if it was.
	State     []byte
	StateNote string
	// CutOff says that there were more calls, and that they were too much.
	CutOff bool
	// Containers are the workload containers that there were, and Asked is what the
	// charm has asked of their Pebbles. AskedNote says why that was left out, if it
	// was; AskedCutOff that there was more, and that it was too much.
	Containers  []Container `json:",omitempty"`
	Asked       []Asked     `json:",omitempty"`
	AskedNote   string      `json:",omitempty"`
	AskedCutOff bool        `json:",omitempty"`
	// Files is what became of files in the run, as far as the model has it recorded; nil: it
	// doesn't. It isn't in what Format writes.
	Files *footprint.Found `json:",omitempty"`
	// Passwords are the parameters that the schema of the action calls so: see
	// model.ActionSpec.Passwords. They are of no use once it is redacted.
	Passwords []string `json:",omitempty"`
	// Redacted is how many placeholders there are in the place of secrets.
	Redacted int
}

// Call is one call of a hook tool.
type Call struct {
	// Args are the tool's name and its arguments.
	Args []string
	// StdinSet tells an empty standard input from one that wasn't read.
	StdinSet bool
	Stdin    []byte
	// File is what --file named, if it was a file and was read.
	File []byte

	Code           int
	Stdout, Stderr []byte

	// At is when it began, after the start of the run; Took is how long it took.
	At, Took time.Duration
}

// String is the call as it may be typed, with words quoted as in Go.
func (c Call) String() string { return QuoteWords(c.Args) }

// Input is what the tool has read.
func (c Call) Input() []byte {
	if c.File != nil {
		return c.File
	}
	return c.Stdin
}

// size is about what the call takes.
func (c Call) size() int {
	n := 64 + len(c.Stdin) + len(c.File) + len(c.Stdout) + len(c.Stderr)
	for _, a := range c.Args {
		n += len(a) + 1
	}
	return n
}

// Parallel says whether there were calls at the same time; their order is
// chance.
func (r *Recording) Parallel() bool {
	var end time.Duration
	for _, c := range r.Calls {
		if c.At < end {
			return true
		}
		end = max(end, c.At+c.Took)
	}
	return false
}

// Getenv is a variable of the environment; empty if it isn't there.
func (r *Recording) Getenv(name string) string {
	for _, v := range r.Env {
		if rest, ok := strings.CutPrefix(v, name+"="); ok {
			return rest
		}
	}
	return ""
}

// clone is a copy whose strings and slices can be replaced.
func (r *Recording) clone() *Recording {
	c := *r
	c.Env, c.Calls, c.Asked = slices.Clone(r.Env), slices.Clone(r.Calls), slices.Clone(r.Asked)
	for i := range c.Asked {
		c.Asked[i] = c.Asked[i].clone()
	}
	if r.Files != nil {
		files := *r.Files
		files.Files = slices.Clone(files.Files)
		c.Files = &files
	}
	return &c
}
