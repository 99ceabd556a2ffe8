package render

import (
	"fmt"
	"strings"
	"time"

	"github.com/unitd/unitd/bench"
)

// BenchText is what a run has measured, for people, in at most 80 columns: each
// figure with its floor below. version is that of what was measured.
func BenchText(r bench.Report, version string) string {
	var t Table
	t.Printf("unitd %s, %s, %d processors\n", version, r.System, r.Processors)
	t.Printf("files in %s", Harmless(r.Files))
	if r.FileSystem != "" {
		t.Printf(" (%s)", r.FileSystem)
	}
	t.Printf("\n")
	if r.Volatile() {
		t.Printf("This is memory: durable writes cost nothing. Set TMPDIR to a directory on disk.\n")
	}
	t.Printf("\n%s", benchRow("Figure", "Median, with that of its floor below", "", "Time", "Ratio"))
	for _, f := range r.Figures {
		t.Printf("%s", benchRow(f.Name, f.What, "", threeDigits(f.Took), fmt.Sprintf("%.2f", f.Ratio())))
		t.Printf("%s", benchRow("", f.Floor, "  ", threeDigits(f.Least), ""))
	}
	return t.String()
}

// benchRow is a row of the table, with as many lines as the text takes.
func benchRow(name, text, indent, time, ratio string) string {
	var b strings.Builder
	for _, words := range wrap(text, 44-len(indent)) {
		line := fmt.Sprintf("%-9s  %-44s  %9s  %8s", name, indent+words, time, ratio)
		b.WriteString(strings.TrimRight(line, " ") + "\n")
		name, time, ratio = "", "", ""
	}
	return b.String()
}

// threeDigits is a time with three digits that count.
func threeDigits(d time.Duration) string {
	unit, name := time.Microsecond, "µs"
	switch {
	case d >= time.Second:
		unit, name = time.Second, "s"
	case d >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	}
	n := float64(d) / float64(unit)
	places := 2
	switch {
	case n >= 100:
		places = 0
	case n >= 10:
		places = 1
	}
	return fmt.Sprintf("%.*f %s", places, n, name)
}

// BenchTree is what a run has measured, as json and yaml have it; times are in
// milliseconds.
func BenchTree(r bench.Report, version string) Tree {
	figures := []Tree{}
	for _, f := range r.Figures {
		one := Tree{
			"name": f.Name, "what": f.What, "ms": fineMS(f.Took), "floor": f.Floor, "floor-ms": fineMS(f.Least), "ratio": f.Ratio(), "count": f.Count,
		}
		if f.Hooks > 0 {
			one["hooks"] = f.Hooks
		}
		figures = append(figures, one)
	}
	t := Tree{"version": version, "system": r.System, "processors": r.Processors, "files": r.Files, "figures": figures}
	if r.FileSystem != "" {
		t["file-system"] = r.FileSystem
	}
	return t
}

// fineMS is a time in milliseconds, of which nothing is cut off.
func fineMS(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
