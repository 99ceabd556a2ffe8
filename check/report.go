package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// Standing is what a check says about a promise.
type Standing string

// The standings.
const (
	// Broken: some scenario shows it.
	Broken Standing = "broken"
	// Kept: all scenarios for it were tried, and none of them breaks it.
	Kept Standing = "kept"
	// Unfinished: some scenarios weren't tried, for lack of time.
	Unfinished Standing = "unfinished"
	// Untried: there was nothing to try, because it doesn't apply to the charm or wasn't asked for.
	Untried Standing = "untried"
)

// Standing is how the promise of that name stands.
func (r *Report) Standing(promise string) Standing {
	breaks := func(f Finding) bool { return f.Breaks(promise) }
	switch tried, left := r.Tried[promise], r.Left[promise]; {
	case slices.ContainsFunc(r.Findings, breaks), slices.ContainsFunc(r.Known, breaks):
		return Broken
	case tried > 0 && left == 0:
		return Kept
	case tried > 0 || left > 0:
		return Unfinished
	}
	return Untried
}

// Network says which units could reach the network beyond this host; empty: all of them.
func (r *Report) Network() string {
	switch {
	case !r.Closed:
		return ""
	case r.Fetched > 0:
		return fmt.Sprintf("only the first unit could reach beyond this host, and fetched %.1f MB for all (--net opens it)", float64(r.Fetched)/1e6)
	}
	return "units could reach nothing beyond this host (--net opens it)"
}

// Write writes a report for people.
func (r *Report) Write(out io.Writer) error {
	var b strings.Builder
	for _, f := range r.Findings {
		b.WriteString(f.text())
	}
	tried, kept := 0, 0
	var left, none []string
	for _, p := range Promises() {
		tried += r.Tried[p.Name]
		switch r.Standing(p.Name) {
		case Kept:
			kept++
		case Unfinished:
			left = append(left, p.Name)
		case Untried:
			none = append(none, p.Name)
		}
	}
	walks := ""
	if r.Walks > 0 {
		walks = " and " + Count(r.Walks, "walk")
	}
	fmt.Fprintf(&b, "%s: %s; %s kept as far as %s%s show, in %s (seed %d)\n",
		r.Charm, Count(len(r.Findings), "finding"), Count(kept, "promise"), Count(tried, "scenario"), walks, r.Took.Round(time.Second), r.Seed)
	list := func(what string, names []string) {
		if len(names) > 0 {
			fmt.Fprintf(&b, "%s: %s\n", what, strings.Join(names, ", "))
		}
	}
	list("Not tried to the end", left)
	list("Nothing to try", none)
	list("Hooks that were never met", r.NotMet)
	list("World", worldText(r.World))
	list("Placeholders for resources, until you give them with --resource", r.Placeholders)
	list("Longest hooks", longest(r.Costs))
	list("Most hook tool calls", mostCalls(r.Costs))
	r.Meetings.write(&b)
	r.writeLines(&b)
	if text := r.Network(); text != "" && (r.Fetched > 0 || len(r.Findings) > 0) {
		fmt.Fprintf(&b, "Network: %s\n", text)
	}
	for _, o := range r.Odd {
		fmt.Fprintf(&b, "Couldn't be carried out: %s\n", o)
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// write says in which states of the endpoints hooks have run, and in which they haven't.
func (m Meetings) write(b *strings.Builder) {
	if m.Wanted == 0 {
		return
	}
	fmt.Fprintf(b, "Hooks that ran in each state of each endpoint: %d of %d\n", m.Met, m.Wanted)
	for i := 0; i < len(m.Missing); {
		at := m.Missing[i]
		var names []string
		for ; i < len(m.Missing) && m.Missing[i].Endpoint == at.Endpoint && m.Missing[i].State == at.State; i++ {
			names = append(names, m.Missing[i].Hook)
		}
		fmt.Fprintf(b, "    not with %s %s: %s\n", at.Endpoint, at.State, strings.Join(names, ", "))
	}
}

// Count is how many there are of something, in words: "1 walk", "2 walks".
func Count(n int, of string) string {
	if n == 1 {
		return "1 " + of
	}
	return fmt.Sprintf("%d %ss", n, of)
}

// text is a finding for people.
func (f Finding) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s\n", f.Promise, f.What)
	if f.File != "" {
		fmt.Fprintf(&b, "    at %s:%d\n", f.File, f.Line)
	}
	if f.Flaky() {
		fmt.Fprintf(&b, "    failed %d times of %d\n", f.Failed, f.Tried)
	}
	if len(f.Also) > 0 {
		fmt.Fprintf(&b, "    breaks by the same cause: %s\n", strings.Join(f.Also, ", "))
	}
	for _, line := range f.Steps {
		fmt.Fprintf(&b, "        %s\n", line)
	}
	if _, more, ok := strings.Cut(strings.TrimSpace(f.Why), "\n"); ok {
		fmt.Fprintf(&b, "    %s\n", strings.ReplaceAll(more, "\n", "\n    "))
	}
	b.WriteString("\n")
	return b.String()
}
