package web

import (
	"fmt"
	"strings"

	"github.com/unitd/unitd/check"
)

// verdict is what a report comes to.
type verdict struct {
	fresh, known       int // findings
	broken, kept, left int // promises
	tried, walks       int
}

func verdictOf(r *check.Report) verdict {
	v := verdict{fresh: len(r.Findings), known: len(r.Known), walks: r.Walks}
	for _, p := range check.Promises() {
		v.tried += r.Tried[p.Name]
		switch r.Standing(p.Name) {
		case check.Broken:
			v.broken++
		case check.Kept:
			v.kept++
		case check.Unfinished:
			v.left++
		}
	}
	return v
}

// standing is how the whole check stands, as one promise does.
func (v verdict) standing() check.Standing {
	switch {
	case v.fresh > 0:
		return check.Broken
	case v.known > 0 || v.left > 0:
		return check.Unfinished
	case v.kept > 0:
		return check.Kept
	}
	return check.Untried
}

// findings says how many there are, and which of them are new.
func (v verdict) findings() string {
	switch {
	case v.known == 0 && v.fresh == 0:
		return "no findings"
	case v.known == 0:
		return check.Count(v.fresh, "finding")
	case v.fresh == 0:
		return check.Count(v.known, "known finding")
	}
	return fmt.Sprintf("%s, %d known", check.Count(v.fresh, "new finding"), v.known)
}

// sentence is what follows the number of findings: how the promises stand.
func (v verdict) sentence() string {
	verb := func(n int, one, more string) string {
		if n == 1 {
			return "1 promise " + one
		}
		return check.Count(n, "promise") + " " + more
	}
	var parts []string
	if v.broken > 0 {
		parts = append(parts, verb(v.broken, "is", "are")+" broken")
	}
	if v.kept > 0 {
		shown := check.Count(v.tried, "scenario")
		if v.walks > 0 {
			shown += " and " + check.Count(v.walks, "walk")
		}
		parts = append(parts, verb(v.kept, "is", "are")+" kept as far as "+shown+" can show")
	}
	if v.left > 0 {
		parts = append(parts, verb(v.left, "was", "were")+" not tried to the end")
	}
	if len(parts) == 0 {
		return "nothing was tried."
	}
	return strings.Join(parts, "; ") + "."
}

// badge is the verdict in three or four words.
func (v verdict) badge() string {
	switch {
	case v.fresh > 0 || v.known > 0:
		return v.findings()
	case v.kept > 0 && v.left > 0:
		return fmt.Sprintf("%d of %s kept", v.kept, check.Count(v.kept+v.left, "promise"))
	case v.kept > 0:
		return check.Count(v.kept, "promise") + " kept"
	case v.left > 0:
		return "not tried to the end"
	}
	return "nothing tried"
}
