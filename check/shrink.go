package check

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/juju/errors"
)

const (
	// shrinkTime bounds how long a finding is made shorter, and repeats how often it is run again
	// then, to know whether it always fails.
	shrinkTime = 2 * time.Minute
	repeats    = 3
)

// shrinking makes a scenario that fails shorter as long as it fails by the same cause.
type shrinking struct {
	ctx     context.Context
	play    func(setUp, lines []string) error // as of a player
	promise string
	cause   string
	until   time.Time
}

// shortest is shrink for a probe whose line has failed.
func (s *shrinking) shortest(pr probe, f *failed) (_ []string, _ *failed, fails, tried int, err error) {
	lines, f, err := s.alone(pr, f)
	if err == nil {
		lines, f, err = s.unrestored(lines, f)
	}
	if err != nil {
		return nil, nil, 0, 0, err
	}
	compared := s.cause
	claim, g, plain, err := s.plainly(lines, f)
	if err != nil {
		return nil, nil, 0, 0, err
	}
	if plain {
		if fails, tried, err = s.repeated(claim); err != nil || fails > 0 {
			return claim, g, fails, tried, err
		}
		s.cause, s.until = compared, time.Now().Add(shrinkTime) // it fails in the middle of something else alone
	}
	return s.shrink(lines, f)
}

// unrestored are lines without what was done in vain before the failure: what came after a snapshot that
// was restored then.
func (s *shrinking) unrestored(lines []string, f *failed) ([]string, *failed, error) {
	for restored := len(lines) - 1; restored >= 0; restored-- {
		name, ok := strings.CutPrefix(lines[restored], "restore ")
		if !ok {
			continue
		}
		kept := slices.Index(lines, "snapshot "+name)
		if kept < 0 || kept > restored {
			break
		}
		try := slices.Delete(slices.Clone(lines), kept, restored+1)
		g, err := s.fails(try)
		if err != nil || g == nil {
			return lines, f, err
		}
		return try[:g.at+1], g, nil
	}
	return lines, f, nil
}

// alone are the lines of a probe up to the one that fails, without the parts before its own where it
// fails without them by the same cause.
func (s *shrinking) alone(pr probe, f *failed) ([]string, *failed, error) {
	lines := append(slices.Clone(pr.setUp), pr.lines()...)[:f.at+1]
	begin := len(pr.setUp) + len(pr.first)
	at := begin
	for _, part := range pr.parts {
		if f.at < at+len(part) {
			break
		}
		at += len(part)
	}
	if f.at < begin || at == begin {
		return lines, f, nil
	}
	try := slices.Delete(slices.Clone(lines), begin, at)
	g, err := s.fails(try)
	if err != nil || g == nil {
		return lines, f, err
	}
	return try[:g.at+1], g, nil
}

// shrink returns the shortest lines that were found, how the last of them fails, and how often
// they failed of so many times.
func (s *shrinking) shrink(lines []string, f *failed) (_ []string, _ *failed, fails, tried int, err error) {
	again := func(try []string) (*failed, error) {
		if err := s.ctx.Err(); err != nil {
			return nil, errors.Trace(err)
		}
		return s.fails(try)
	}
	for size := len(lines) / 2; size >= 1; {
		removed := false
		for end := len(lines) - 1; end > 0 && time.Now().Before(s.until); end -= size {
			begin := max(0, end-size)
			if slices.Contains(needed(lines)[begin:end], true) {
				continue
			}
			try := slices.Delete(slices.Clone(lines), begin, end)
			g, err := again(try)
			if err != nil {
				return nil, nil, 0, 0, err
			}
			if g != nil {
				lines, f, removed = try[:g.at+1], g, true
				end = min(end, len(lines)-1+size)
			}
		}
		if !removed || size > 1 {
			size /= 2
		}
	}
	if lines, f, err = s.fewerWords(lines, f, again); err != nil {
		return nil, nil, 0, 0, err
	}
	fails, tried, err = s.repeated(lines)
	return lines, f, fails, tried, err
}

// repeated says how often the lines fail of so many times.
func (s *shrinking) repeated(lines []string) (fails, tried int, err error) {
	for tried = 0; tried < repeats; tried++ {
		if err := s.ctx.Err(); err != nil {
			return 0, 0, errors.Trace(err)
		}
		g, err := s.fails(lines)
		if err != nil {
			return 0, 0, err
		}
		if g != nil {
			fails++
		}
	}
	return fails, tried, nil
}

// deeds are what is done to a charm in a scenario whose last line compares, or looks for a text.
// Without them the claim would be another one.
var deeds = map[string]bool{
	"remove-relation": true, "remove-application": true, "remove-unit": true, "stub-leave": true, "update-secret": true, "revoke-secret": true, "remove-secret": true,
	"kill-agent": true, "hang": true, "release": true, "lose-leadership": true, "restart-agent": true, "refresh": true, "advance": true, "detach-storage": true,
	"attach-storage": true, "status": true, "unit-exec": true, "search": true, "files": true, "processes": true, "calls": true,
}

// needed says of each line whether the claim in the last one makes sense only with it.
func needed(lines []string) []bool {
	out := make([]bool, len(lines))
	for i, line := range lines {
		out[i] = line == noRetry
	}
	claim := strings.TrimPrefix(lines[len(lines)-1], "! ")
	if set := slices.Index(lines, wrongly(lines[:len(lines)-1], lines[len(lines)-1])); set >= 0 {
		out[set], out[min(set+1, len(lines)-1)] = true, true
	}
	if !strings.HasPrefix(claim, "same ") && !strings.HasPrefix(claim, "stdout ") {
		return out
	}
	either := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "snapshot ") })
	for i, line := range lines {
		verb := split(strings.TrimPrefix(line, "! "))[0]
		out[i] = out[i] || either >= 0 && i >= either || deeds[verb] && !goneAnyway(lines[:i], line) || strings.Contains(line, " --reset ") || i > 0 && verb == "settle" && out[i-1]
	}
	return out
}

// goneAnyway says whether a line removes an application whose relation has been removed before: whoever is on the
// other side by then makes no difference to the charm.
func goneAnyway(before []string, line string) bool {
	name, ok := strings.CutPrefix(line, "remove-application ")
	return ok && slices.ContainsFunc(before, func(l string) bool {
		return strings.HasPrefix(l, "remove-relation ") && strings.HasSuffix(l, " "+name)
	})
}

// fewerWords leaves out what stubs publish to no purpose.
func (s *shrinking) fewerWords(lines []string, f *failed, again func([]string) (*failed, error)) ([]string, *failed, error) {
	for i, line := range lines {
		words := split(line)
		if words[0] != "stub-set" {
			continue
		}
		for j := len(words) - 1; j > 1 && time.Now().Before(s.until); j-- {
			if !strings.Contains(words[j], "=") || strings.Count(strings.Join(words, " "), "=") < 2 {
				continue
			}
			fewer := slices.Delete(slices.Clone(words), j, j+1)
			try := slices.Clone(lines)
			for k := range try {
				if try[k] == lines[i] { // on both of two ways
					try[k] = strings.Join(fewer, " ")
				}
			}
			g, err := again(try)
			if err != nil {
				return nil, nil, err
			}
			if g != nil && g.at == len(lines)-1 {
				lines, words, f = try, fewer, g
			}
		}
	}
	return lines, f, nil
}

// fails says how the lines fail, if they do so by the cause; nil: they don't.
func (s *shrinking) fails(lines []string) (*failed, error) {
	if !closed(lines) {
		return nil, nil
	}
	return s.failsAfter(nil, lines)
}

// failsAfter is fails for lines after a set-up that is the same each time.
func (s *shrinking) failsAfter(setUp, lines []string) (*failed, error) {
	f, err := s.played(setUp, lines)
	if err != nil || f == nil || f.misuse {
		return nil, err
	}
	if _, cause := whatHappened(s.promise, f); cause != s.cause {
		return nil, nil
	}
	return f, nil
}

// played says how the lines fail, by whatever cause; nil: they don't.
func (s *shrinking) played(setUp, lines []string) (*failed, error) {
	err := s.play(setUp, lines)
	var f *failed
	if err != nil && !errors.As(err, &f) {
		return nil, errors.Trace(err)
	}
	return f, nil
}

// closed says whether lines have all that they name: variables, snapshots and marks.
func closed(lines []string) bool {
	given := map[string]bool{"$SCRIPT_DIR": true, "$FORMER": true, "$WORK": true}
	for _, line := range lines {
		for i, part := range strings.Split(line, "'") {
			for _, name := range variableForm.Regexp().FindAllString(part, -1) {
				if i%2 == 0 && !given[name] {
					return false
				}
			}
		}
		words := slices.DeleteFunc(split(line), func(w string) bool { return w == "!" })
		switch {
		case len(words) < 2:
		case words[0] == "capture":
			given["$"+words[1]] = true
		case words[0] == "snapshot" || words[0] == "mark":
			given[words[0]+words[1]] = true
		case words[0] == "restore" && !given["snapshot"+words[1]]:
			return false
		case words[0] == "same":
			if words[1] == "--but" {
				words = words[2:]
			}
			if !given["mark"+words[1]] {
				return false
			}
		}
	}
	return true
}

func sprintf(format string, args ...any) string {
	return strings.TrimSpace(fmt.Sprintf(format, args...))
}
