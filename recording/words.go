package recording

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// bare is a word that needs no quotes.
var bare = pattern.New(`^[\w./:=,@%+~^{}\[\]#-]+$`)

// QuoteWords is words as a line, each quoted as in Go if it needs it.
func QuoteWords(words []string) string {
	out := make([]string, len(words))
	for i, w := range words {
		if out[i] = w; !bare.MatchString(w) {
			out[i] = strconv.Quote(w)
		}
	}
	return strings.Join(out, " ")
}

// splitWords is the opposite of QuoteWords.
func splitWords(line string) ([]string, error) {
	var words []string
	for rest := strings.TrimLeft(line, " "); rest != ""; rest = strings.TrimLeft(rest, " ") {
		if rest[0] != '"' {
			word, after, _ := strings.Cut(rest, " ")
			words, rest = append(words, word), after
			continue
		}
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return nil, errors.NotValidf("quoted word %.40s", rest)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, errors.NotValidf("quoted word %.40s", quoted)
		}
		rest = rest[len(quoted):]
		if rest != "" && rest[0] != ' ' {
			return nil, errors.NotValidf("quoted word %.40s, which no space follows,", quoted)
		}
		words = append(words, word)
	}
	return words, nil
}

// quoteLine is text as one line: as it is, or quoted where that could be taken
// for something else.
func quoteLine(s string) string {
	if s == "" || s[0] == '"' || strings.HasPrefix(s, "-- ") || strings.TrimSpace(s) != s || !readable(s) || strings.Contains(s, "\n") {
		return strconv.Quote(s)
	}
	return s
}

// unquoteLine is the opposite of quoteLine.
func unquoteLine(line string) (string, error) {
	if !strings.HasPrefix(line, `"`) {
		return line, nil
	}
	s, err := strconv.Unquote(line)
	if err != nil {
		return "", errors.NotValidf("quoted line %.40s", line)
	}
	return s, nil
}

// readable says whether people can read s, and editors won't change it.
func readable(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for _, r := range s {
		if !unicode.IsPrint(r) && r != '\t' && r != '\n' {
			return false
		}
	}
	return true
}

// The ways in which a block of text is written, as its heading says.
const (
	asLines   = ""                        // each line after two blanks
	unended   = ", no newline at its end" // the same, and the last newline isn't the text's
	asStrings = ", quoted"                // each line as a string of Go
)

// formatBlock writes text of any bytes under a heading.
func formatBlock(b *strings.Builder, heading string, text []byte) {
	how, lines := blockOf(text)
	b.WriteString(heading + how + ":\n" + lines)
}

// blockOf is text of any bytes as lines, and the way in which they are written.
func blockOf(text []byte) (how, block string) {
	const indent = "  "
	s := string(text)
	lines := strings.SplitAfter(s, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	how = asLines
	switch {
	case !readable(s) || len(lines) > 0 && (lines[0] == "\n" || lines[len(lines)-1] == "\n"):
		how = asStrings
	case s != "" && !strings.HasSuffix(s, "\n"):
		how = unended
	}
	for _, line := range lines {
		// Editors take blanks off the ends of lines.
		if line = strings.TrimSuffix(line, "\n"); strings.TrimRight(line, " \t") != line {
			how = asStrings
		}
	}
	var b strings.Builder
	for _, line := range lines {
		switch plain := strings.TrimSuffix(line, "\n"); {
		case how == asStrings:
			b.WriteString(indent + strconv.Quote(line) + "\n")
		case plain == "":
			b.WriteString("\n")
		default:
			b.WriteString(indent + plain + "\n")
		}
	}
	return how, b.String()
}

// parseBlock is the text of the lines below a heading that says how.
func parseBlock(how string, lines []string) ([]byte, error) {
	var b strings.Builder
	for _, line := range lines {
		line, indented := strings.CutPrefix(line, "  ")
		switch {
		case how == asStrings:
			s, err := strconv.Unquote(line)
			if err != nil {
				return nil, errors.NotValidf("quoted line %.40s", line)
			}
			b.WriteString(s)
			continue
		case !indented && strings.TrimSpace(line) != "":
			return nil, errors.NotValidf("line %.40q, which has no two blanks in front,", line)
		}
		b.WriteString(line + "\n")
	}
	s := b.String()
	if how == unended {
		s = strings.TrimSuffix(s, "\n")
	}
	return []byte(s), nil
}
