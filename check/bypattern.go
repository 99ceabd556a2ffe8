package check

import (
	"regexp"
	"regexp/syntax"
	"strings"
)

// byPattern are texts that a regular expression matches, or may: one that takes what may be
// repeated once, one that leaves out all that it can, and longer ones.
func byPattern(expression string) (all []string) {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	for _, times := range []int{1, 0, 2, 8} {
		var b strings.Builder
		writeMatch(&b, tree, times)
		all = append(all, b.String())
	}
	return all
}

// writeMatch writes what an expression matches, with what may be repeated so many times.
func writeMatch(b *strings.Builder, e *syntax.Regexp, times int) {
	if b.Len() > maxText {
		return
	}
	switch e.Op {
	case syntax.OpLiteral:
		b.WriteString(string(e.Rune))
	case syntax.OpCharClass:
		b.WriteRune(likely(e.Rune))
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		b.WriteByte('a')
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range e.Sub {
			writeMatch(b, sub, times)
		}
	case syntax.OpAlternate:
		writeMatch(b, e.Sub[0], times)
	case syntax.OpStar, syntax.OpPlus, syntax.OpQuest, syntax.OpRepeat:
		least, most := e.Min, e.Max
		switch e.Op {
		case syntax.OpStar:
			least, most = 0, -1
		case syntax.OpPlus:
			least, most = 1, -1
		case syntax.OpQuest:
			least, most = 0, 1
		}
		n := max(least, times)
		if most >= 0 {
			n = min(n, most)
		}
		for range n {
			writeMatch(b, e.Sub[0], times)
		}
	}
}

// likely is a character of a class: a letter or a digit, if it has one.
func likely(ranges []rune) rune {
	for _, wanted := range "a1A-_" {
		for i := 0; i+1 < len(ranges); i += 2 {
			if ranges[i] <= wanted && wanted <= ranges[i+1] {
				return wanted
			}
		}
	}
	for i := 0; i+1 < len(ranges); i += 2 { // nothing that no line can have
		if first := max(ranges[i], '!'); first <= ranges[i+1] {
			return first
		}
	}
	if len(ranges) > 0 {
		return ranges[0]
	}
	return 'a'
}

func matches(expression, text string) bool {
	re, err := regexp.Compile(expression)
	return err == nil && re.MatchString(text)
}
