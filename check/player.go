package check

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
	"github.com/unitd/unitd/script"
)

// player runs the lines of scenarios in a world of its own, one after the other. What it has
// set up once it goes back to by a snapshot.
type player struct {
	subject Subject
	data    string // the world's data directory

	in    *json.Encoder
	out   *json.Decoder
	close func() error

	// trace, where it is set, is told what was done, and how long it took.
	trace func(what string, took time.Duration)

	here  place
	bases []*base
	n     int // of snapshots, whose names are never used again

	// stubs are the endpoints that stubs play the other side of, and looks what hooks have run
	// since somebody has last asked.
	stubs map[string]string
	looks looks
	notes lineNotes
	// slowed: hooks of the scenario stand still.
	slowed bool

	// slowest is the longest that a line has taken which has succeeded, and hurry how long one may take
	// now; 0: as long as any.
	slowest time.Duration
	hurry   atomic.Int64
}

// place is what a player knows of where it is in a scenario.
type place struct {
	vars     map[string]string
	said     string // what the last line printed
	standing standing
	ran      map[string]int // how many runs are known of each unit
}

// base is a place that a player can go back to.
type base struct {
	lines string
	name  string
	place place
}

// maxBases bounds the snapshots that a player keeps: they take space.
const maxBases = 8

// failed is a line that has failed.
type failed struct {
	line string
	at   int // its place among the lines
	why  string
	// misuse: the line can't be right, whatever the charm does.
	misuse bool
	// set is the line that has set the option which a claim of refusing is about.
	set string
}

// Error is part of error.
func (f *failed) Error() string { return f.line + ": " + f.why }

// newPlayer opens a world.
func newPlayer(ctx context.Context, s Subject, p script.Params, trace func(string, time.Duration)) (*player, error) {
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	ctx, cancel := context.WithCancel(ctx)
	if len(s.code) > 0 {
		p.Environment = append(slices.Clone(p.Environment), linesEnvironment()...)
	}
	pl := &player{subject: s, trace: trace, stubs: map[string]string{}, looks: newLooks(), in: json.NewEncoder(inWrite), out: json.NewDecoder(outRead)}
	p.Hurry = func() time.Duration { return time.Duration(pl.hurry.Load()) }
	d := &script.Door{Params: p, In: inRead, Out: outWrite}
	ended := make(chan error, 1)
	go func() {
		err := d.Serve(ctx)
		outWrite.CloseWithError(errors.New("the world has ended"))
		inRead.CloseWithError(errors.New("the world has ended"))
		ended <- err
	}()
	pl.close = func() error {
		inWrite.Close()
		err := <-ended
		cancel()
		return err
	}
	var told script.Told
	if err := pl.out.Decode(&told); err != nil {
		inWrite.Close()
		cancel()
		return nil, errors.Annotate(cmp.Or(<-ended, err), "cannot open a world")
	}
	pl.data = told.World.Data
	if len(s.code) > 0 {
		pl.notes = lineNotes{dir: filepath.Join(told.World.Work, linesDir), application: s.Application(), code: s.code, read: map[string]bool{}}
		if err := layLines(pl.notes.dir); err != nil {
			_ = pl.close()
			return nil, err
		}
	}
	pl.here = place{vars: map[string]string{"FORMER": s.former(), "WORK": told.World.Work}, standing: standing{}, ran: map[string]int{}}
	for _, e := range s.endpoints() {
		pl.stubs[e.Stub()] = e.Name
	}
	if err := pl.keep(""); err != nil {
		_ = pl.close()
		return nil, err
	}
	return pl, nil
}

// former is the former version, or the charm itself.
func (s Subject) former() string {
	if s.Former == "" {
		return s.Dir
	}
	return s.Former
}

func (p place) clone() place {
	return place{vars: maps.Clone(p.vars), said: p.said, standing: maps.Clone(p.standing), ran: maps.Clone(p.ran)}
}

// keep makes a base of where the player is, after those lines.
func (p *player) keep(lines string) error {
	p.n++
	b := &base{lines: lines, name: fmt.Sprintf("base-%d", p.n), place: p.here.clone()}
	if _, err := p.do("snapshot", b.name); err != nil {
		return errors.New(err.Error()) // no line of the scenario
	}
	p.bases = append(p.bases, b)
	if len(p.bases) > maxBases {
		gone := p.bases[1]
		p.bases = slices.Delete(p.bases, 1, 2)
		if _, err := p.do("forget", gone.name); err != nil {
			return errors.New(err.Error())
		}
	}
	return nil
}

// back goes to the base that is the longest beginning of the lines, and returns what is left.
func (p *player) back(lines []string) (rest []string, err error) {
	for n := len(lines); n >= 0; n-- {
		key := strings.Join(lines[:n], "\n")
		for i, b := range p.bases {
			if b.lines != key {
				continue
			}
			if i > 0 { // the first is the empty world; of the others the one goes that was used longest ago
				p.bases = append(slices.Delete(p.bases, i, i+1), b)
			}
			if _, err := p.do("restore", b.name); err != nil {
				return nil, errors.New(err.Error())
			}
			p.here = b.place.clone()
			return lines[n:], nil
		}
	}
	return nil, errors.New("the empty world is lost")
}

// play runs a scenario: set-up, which is kept for the next one, and steps. The error is
// *failed for a line that has failed, with its place among all lines.
func (p *player) play(setUp, steps []string) error {
	p.slowed = slowing(setUp) || slowing(steps)
	rest, err := p.back(setUp)
	if err != nil {
		return err
	}
	if err := p.lines(rest, len(setUp)-len(rest)); err != nil {
		return err
	}
	if len(rest) > 0 {
		if err := p.keep(strings.Join(setUp, "\n")); err != nil {
			return err
		}
	}
	return p.steps(steps, len(setUp))
}

// slowing says whether hooks stand still in a scenario.
func slowing(lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "hang ") })
}

// steps runs lines whose snapshots and marks are theirs alone.
func (p *player) steps(lines []string, at int) error {
	p.n++
	own := fmt.Sprintf("+own%d", p.n)
	names := map[string]bool{}
	defer func() {
		for name := range names {
			_, _ = p.do("forget", name)
		}
	}()
	renamed := make([]string, len(lines))
	for i, line := range lines {
		words := split(line)
		j := slices.IndexFunc(words, func(w string) bool { return w != "!" })
		if j >= 0 && slices.Contains([]string{"snapshot", "restore", "mark", "same"}, words[j]) {
			k := j + 1
			if words[j] == "same" && len(words) > k+1 && words[k] == "--but" {
				k += 2
			}
			words[k] += own
			if words[j] == "snapshot" || words[j] == "mark" {
				names[words[k]] = true
			}
			line = strings.Join(words, " ")
		}
		renamed[i] = line
	}
	kept := map[string]place{}
	for i, line := range renamed {
		if err := p.line(line); err != nil {
			var f *failed
			if errors.As(err, &f) {
				f.line, f.at, f.set = lines[i], at+i, wrongly(lines[:i], lines[i])
				f.why = strings.ReplaceAll(f.why, own, "")
			}
			return err
		}
		switch words := split(line); words[0] {
		case "snapshot":
			kept[words[1]] = p.here.clone()
		case "restore":
			p.here = kept[words[1]].clone()
		}
	}
	return nil
}

func (p *player) lines(lines []string, at int) error {
	for i, line := range lines {
		if err := p.line(line); err != nil {
			var f *failed
			if errors.As(err, &f) {
				f.at = at + i
			}
			return err
		}
	}
	return nil
}

// line runs one line of a scenario.
func (p *player) line(line string) error {
	words, err := p.words(line)
	if err != nil || len(words) == 0 {
		return err
	}
	negated := words[0] == "!"
	if negated {
		words = words[1:]
	}
	var why string
	misuse := false
	switch words[0] {
	case "capture":
		p.here.vars[words[1]] = strings.TrimSuffix(p.here.said, "\n")
	case "stdout":
		re, err := regexp.Compile("(?m)" + words[1])
		if err != nil {
			return errors.Annotate(err, line)
		}
		if m := re.FindString(p.here.said); (m != "") == negated {
			why = "nothing that was printed matches"
			if negated {
				why = fmt.Sprintf("it was printed: %s", strings.TrimSpace(m))
			}
		}
		negated = false
	case "has":
		if !strings.Contains(p.here.said, words[1]) {
			why = fmt.Sprintf("%q isn't in what was printed", words[1])
		}
	default:
		told, err := p.do(words...)
		if p.here.standing.after(words, p.stubs); lets[words[0]] {
			p.look()
		}
		if err != nil && !errors.As(err, new(*failed)) {
			return err
		}
		var f *failed
		if errors.As(err, &f) {
			why, misuse = f.why, f.misuse
		}
		if keeps := []string{"workload", "agent-status", "took"}; !slices.Contains(keeps, words[0]) {
			p.here.said = told.Stdout
		}
	}
	switch {
	case misuse || why != "" && !negated:
		return &failed{line: line, why: why, misuse: misuse}
	case negated && why == "":
		return &failed{line: line, why: "it succeeded, and was to fail"}
	}
	return nil
}

// lets are the commands that let hooks run.
var lets = map[string]bool{"settle": true, "advance": true, "run": true, "run-hooks": true, "unit-exec": true, "restart-agent": true, "power-cut": true, "reboot": true}

// do has the world carry out a command.
func (p *player) do(words ...string) (script.Told, error) {
	var told script.Told
	began := time.Now()
	if p.trace != nil {
		defer func() { p.trace(strings.Join(words, " "), time.Since(began)) }()
	}
	if err := p.in.Encode(script.Asked{Command: words}); err != nil {
		return told, errors.Trace(err)
	}
	if err := p.out.Decode(&told); err != nil {
		return told, errors.Trace(err)
	}
	if told.Error != "" {
		return told, &failed{line: strings.Join(words, " "), why: told.Error, misuse: told.Misuse}
	}
	p.slowest = max(p.slowest, time.Since(began))
	return told, nil
}

var variableForm = pattern.New(`\$[A-Za-z_][A-Za-z0-9_]*`)

// words are a line's, without quotes and with what variables stand for, as in scripts.
func (p *player) words(line string) (words []string, err error) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return nil, nil
	}
	for _, word := range split(line) {
		var out strings.Builder
		parts := strings.Split(word, "'")
		for i, part := range parts {
			switch {
			case i%2 == 1:
				out.WriteString(part)
				continue
			case part == "" && i > 0 && i < len(parts)-1: // two quotes within quotes are one
				out.WriteByte('\'')
				continue
			}
			before, after, own := strings.Cut(part, "$SCRIPT_DIR/..")
			if own {
				out.WriteString(before + p.subject.Dir)
				part = after
			}
			out.WriteString(variableForm.Regexp().ReplaceAllStringFunc(part, func(name string) string {
				value, ok := p.here.vars[name[1:]]
				if !ok {
					err = errors.Errorf("%s: there is no %s", line, name)
				}
				return value
			}))
		}
		words = append(words, out.String())
	}
	return words, err
}
