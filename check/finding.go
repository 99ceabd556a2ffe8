package check

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/unitd/unitd/pattern"
)

// Finding is a promise that a charm breaks, with the shortest scenario that shows it.
type Finding struct {
	Promise string `json:"promise"`
	// What says in a line what has happened, Why all that the scenario's last line said.
	What string `json:"what"`
	Why  string `json:"why"`
	// Cause is alike for findings that have the same cause, as far as can be told.
	Cause string `json:"cause"`
	// Steps are the scenario's lines; the last one fails.
	Steps []string `json:"steps"`
	// Failed is how often the scenario has failed so, of so many times that it was Tried.
	Failed int `json:"failed"`
	Tried  int `json:"tried"`
	// File and Line are the line of the charm's code that has failed, where it has said so: the
	// file as its path in the charm's directory. Else they are empty.
	File string `json:"file,omitempty"`
	Line int    `json:"line,omitempty"`
	// Also are other promises that it breaks by the same cause.
	Also []string `json:"also,omitempty"`
}

// Breaks says whether it breaks the promise of that name.
func (f Finding) Breaks(promise string) bool {
	return f.Promise == promise || slices.Contains(f.Also, promise)
}

// Flaky says that the scenario doesn't always fail.
func (f Finding) Flaky() bool { return f.Failed < f.Tried }

// sometimes says of one whose scenario doesn't always fail how often it has; else it is nothing.
func (f Finding) sometimes() []string {
	if !f.Flaky() {
		return nil
	}
	return []string{fmt.Sprintf("The scenario doesn't always fail: it failed in %d of %d runs.", f.Failed, f.Tried)}
}

// Report is what a check has found.
type Report struct {
	Charm string        `json:"charm"`
	Seed  uint64        `json:"seed"`
	Took  time.Duration `json:"took"`
	// Tried is how many scenarios were tried for each promise, and Left how many weren't, as
	// there was no time. A promise with neither doesn't apply to the charm.
	Tried map[string]int `json:"tried"`
	Left  map[string]int `json:"left,omitempty"`
	// Walks is how many scenarios at random were tried beside, once there was nothing else.
	Walks int `json:"walks"`
	// Met are the hooks that have run, NotMet those that the charm can have and that haven't.
	Met    []string `json:"met"`
	NotMet []string `json:"not-met,omitempty"`
	// Meetings says in which states of its endpoints hooks have run; it isn't known where only
	// other promises than order-of-relations were asked for.
	Meetings Meetings `json:"meetings"`
	// Lines are those of the charm's own code in Python, by files; LinesUnknown says why they aren't
	// known, if the charm has any.
	Lines        []FileLines `json:"lines,omitempty"`
	LinesUnknown string      `json:"lines-unknown,omitempty"`
	// World says who has said what stubs publish.
	World []Origin `json:"world,omitempty"`
	// Placeholders are the resources that weren't given, and what stood for each.
	Placeholders []string `json:"placeholders,omitempty"`
	// Costs are what hooks have cost, by their names.
	Costs []Cost `json:"costs,omitempty"`
	// Fetched is how many bytes the package managers of the first unit have fetched, which the
	// others have had too.
	Fetched int64 `json:"fetched,omitempty"`
	// Closed: the others have had no network beyond this host.
	Closed bool `json:"closed,omitempty"`
	// Findings are in the order of their promises.
	Findings []Finding `json:"findings"`
	// Known are findings that an earlier report has too, in the report that New has made.
	Known []Finding `json:"-"`
	// Odd are scenarios that couldn't be carried out, by no fault of the charm.
	Odd []string `json:"odd,omitempty"`
	// Progress is what a later check goes on from.
	Progress *Progress `json:"-"`
}

var (
	inError = pattern.New(`(?s)hook failed: "([^"]+)".*?\((?:exit status \d+: )?(.*?)\); it waits to be resolved`)
	numbers = pattern.New(`\d+`)
	uris    = pattern.New(`secret:[^\s"]+`) // each time another one
	// those are other ones each time: addresses in memory, UUIDs and what looks like a checksum, secrets without
	// their scheme, and temporary files.
	hexes     = pattern.New(`\b0x[0-9a-f]+\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b[0-9a-f]{8,}\b|\b[0-9a-v]{19}[0g]\b`)
	temporary = pattern.New(`/tmp/[^\s'":,;()]+`)
	ofFile    = pattern.New(`, \d+ bytes, [0-9a-f]+`)
	unitIn    = pattern.New(`(\S+/\d+): hook failed`)
	tracedTo  = pattern.New(`(?m)^\s*(?:File ")?(?:[^"\n]*/)?((?:src|lib|hooks)/[^"\n:]+\.py)(?:", line |:)(\d+), in `) // as Python has it, or as logs show it
	atMarked  = pattern.New(`(?m)^not as at mark "[^"]*":\n`)
)

// stillComing begins what a script says of containers that it has waited for.
const stillComing = ": not there yet: "

// whatHappened is a failure in a line, and its cause: the same for failures that differ in
// numbers only.
func whatHappened(promise string, f *failed) (what, cause string) {
	if f.set != "" {
		return isActive(f.line, f.set)
	}
	if m := inError.FindStringSubmatch(f.why); m != nil {
		if m[2] == "" || strings.HasPrefix(m[2], "exit status") {
			return m[1] + " fails", "error: " + m[1] + " fails"
		}
		return m[1] + ": " + m[2], "error: " + plain(m[2])
	}
	why := ofFile.Regexp().ReplaceAllString(atMarked.Regexp().ReplaceAllString(f.why, ""), "")
	first, _, _ := strings.Cut(strings.TrimSpace(why), "\n")
	verb := strings.Fields(strings.TrimPrefix(f.line, "! "))[0]
	if after, ok := strings.CutPrefix(first, unsettled); ok && strings.Contains(after, ": ") && !strings.Contains(after, stillComing) { // whatever it is at by then
		return first, promise + ": " + verb + ": " + unsettled
	}
	alike := first
	if key, _, ok := strings.Cut(first, ": "); ok && strings.HasPrefix(first, "~ databag ") { // the values may be made up
		alike = key
	}
	return first, promise + ": " + verb + ": " + plain(alike)
}

// inWords says a difference as "same" tells it in words, and anything else as it is.
func inWords(what string) string {
	sign, fact, _ := strings.Cut(what, " ")
	switch sign {
	case "-":
		return fact + " is missing"
	case "+":
		return fact + " shouldn't be there"
	case "~":
		key, values, _ := strings.Cut(fact, ": ")
		was, is, ok := strings.Cut(values, " -> ")
		switch key = strings.TrimSuffix(key, " ="); {
		case ok && was == is: // a file, of which only what is in it is different
			return key + " is another one"
		case ok:
			return key + " is " + is + ", not " + was
		}
	}
	return what
}

func plain(text string) string {
	text = uris.Regexp().ReplaceAllString(text, "secret:…")
	text = temporary.Regexp().ReplaceAllString(text, "/tmp/…")
	return numbers.Regexp().ReplaceAllString(hexes.Regexp().ReplaceAllString(text, "N"), "N")
}

// source is the line of the charm's code that has failed, as far as the unit has logged it; the
// charm's own code counts before libraries.
func (p *player) source(f *failed) (file string, line int) {
	m := unitIn.FindStringSubmatch(f.why)
	if m == nil {
		return "", 0
	}
	told, err := p.do("log", m[1])
	if err != nil {
		return "", 0
	}
	at := strings.LastIndex(told.Stdout, traceback)
	if at < 0 {
		return "", 0
	}
	return lineOf(told.Stdout[at:])
}

// lineOf is the last line of the charm's own code in a traceback, or of a library in it.
func lineOf(traceback string) (file string, line int) {
	for _, m := range tracedTo.Regexp().FindAllStringSubmatch(traceback, -1) {
		if strings.Contains(m[0], "/venv/") {
			continue
		}
		if own := !strings.HasPrefix(m[1], "lib/"); own || file == "" || strings.HasPrefix(file, "lib/") {
			file = m[1]
			line, _ = strconv.Atoi(m[2])
		}
	}
	return file, line
}
