package check

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"
)

// Progress is what a check has come to, for a later one of the same charm that goes on from there.
// It can be kept as JSON.
type Progress struct {
	// Of tells the charm from others, and from other versions of it: Subject.Digest. A check that
	// goes on has the same, and the same promises.
	Of       string   `json:"of"`
	Promises []string `json:"promises"`

	Endpoints []Endpoint     `json:"endpoints"`
	Actions   []string       `json:"actions"`
	More      []string       `json:"more"`
	Trusted   []string       `json:"trusted,omitempty"`
	Life      [][]string     `json:"life"`
	Hooks     []Seen         `json:"hooks"`
	Queue     []left         `json:"queue"`
	Trails    []trail        `json:"trails"`
	Blocked   map[string]int `json:"blocked"`
	Met       []Meeting      `json:"met"`
	Ran       []string       `json:"ran"`
	Ways      []string       `json:"ways"`
	Costs     costs          `json:"costs"`
	// Itself says that the charm is upgraded to itself, and Unlived that its life isn't known yet.
	Unlived bool   `json:"unlived,omitempty"`
	Itself  bool   `json:"itself,omitempty"`
	Report  Report `json:"report"`
}

// left is a probe that is still to be tried.
type left struct {
	Promise string     `json:"promise"`
	SetUp   []string   `json:"set-up"`
	First   []string   `json:"first,omitempty"`
	Parts   [][]string `json:"parts"`
	End     []string   `json:"end"`
}

// progress is what the search has come to.
func (c *search) progress() *Progress {
	p := &Progress{
		Of: c.world.Digest, Promises: c.Promises, Endpoints: c.world.Endpoints, Actions: c.world.Actions, More: c.world.More, Trusted: c.world.Trusted,
		Life: c.life.Life, Hooks: c.life.Hooks, Trails: c.walker.trails, Blocked: c.blocked, Report: c.report, Ran: slices.Sorted(maps.Keys(c.looks.hooks)), Ways: slices.Sorted(maps.Keys(c.looks.ways)),
		Itself: c.world.Former == "", Unlived: c.unlived, Costs: c.looks.costs,
	}
	for _, pr := range c.queue {
		p.Queue = append(p.Queue, left{pr.promise, pr.setUp, pr.first, pr.parts, pr.end})
	}
	for m := range c.looks.met {
		p.Met = append(p.Met, m)
	}
	return p
}

// resume goes on from where a former check was.
func (c *search) resume(s Subject) {
	p := c.Resume
	if p.Itself {
		s.withoutFormer()
	}
	c.looks.costs.take(p.Costs)
	c.world = World{Subject: s, Endpoints: p.Endpoints, Actions: p.Actions, More: p.More, Trusted: p.Trusted, Life: p.Life, Hooks: p.Hooks}
	c.life, c.unlived = c.world, p.Unlived
	now := c.report // what there is of the network
	c.report = p.Report
	c.report.Closed, c.report.Fetched, c.report.Odd = now.Closed, now.Fetched, append(c.report.Odd, now.Odd...)
	c.Seed = p.Report.Seed
	for promise, n := range p.Blocked {
		c.blocked[promise] = n
	}
	for i, f := range c.report.Findings {
		c.known[f.Cause] = i
		c.Known = append(c.Known, f.Cause)
	}
	for _, l := range p.Queue {
		c.queue = append(c.queue, probe{promise: l.Promise, setUp: l.SetUp, first: l.First, parts: l.Parts, end: l.End})
	}
	for _, m := range p.Met {
		c.looks.met[m] = true
	}
	for _, hook := range p.Ran {
		c.looks.hooks[hook] = true
	}
	for _, way := range p.Ways {
		c.looks.ways[way] = true
	}
	c.looks.lines.recall(p.Report.Lines)
	// Another chance for each time, else the same walks would be made again.
	c.walker = newWalker(c.world, rand.New(rand.NewPCG(c.Seed, uint64(c.report.Walks)+1)))
	if len(p.Trails) > 0 {
		c.walker.trails = p.Trails
	}
}

// digest is one of a charm's source, but for what isn't the charm: its tests, hidden files, what tools
// leave, and the files of not.
func digest(not []string, dirs ...string) (string, error) {
	h := sha256.New()
	for _, dir := range dirs {
		dir, err := filepath.Abs(dir)
		if err == nil {
			dir, err = filepath.EvalSymlinks(dir)
		}
		if err != nil {
			return "", errors.Annotate(err, "cannot read the charm's files")
		}
		err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			rel, _ := filepath.Rel(dir, path)
			if d.IsDir() {
				if name := d.Name(); rel != "." && (slices.Contains(not, path) || strings.HasPrefix(name, ".") || rel == "tests" || name == "__pycache__") {
					return fs.SkipDir
				}
				return nil
			}
			if !d.Type().IsRegular() || strings.HasPrefix(d.Name(), ".") || slices.Contains(not, path) {
				return nil
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			sum := sha256.Sum256(b)
			h.Write([]byte(rel + "\x00" + hex.EncodeToString(sum[:]) + "\x00"))
			return nil
		})
		if err != nil {
			return "", errors.Annotate(err, "cannot read the charm's files")
		}
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// Identify notes what tells the charm from others: the content of directories and files, such as its
// source and that of its former version, and the flags that say how it is checked. not are files and
// directories that the check itself writes, which may be among the others.
func (s *Subject) Identify(paths, flags, not []string) error {
	var real []string
	for _, path := range not {
		path, err := filepath.Abs(path)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err == nil { // what isn't there isn't met
			real = append(real, path)
		}
	}
	sum, err := digest(real, paths...)
	if err == nil {
		all := sha256.Sum256([]byte(strings.Join(append([]string{sum}, flags...), "\x00")))
		s.Digest = hex.EncodeToString(all[:])
	}
	return errors.Trace(err)
}
