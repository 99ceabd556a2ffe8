package waitfor

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Error is what is wrong with a query.
type Error struct {
	Query string
	// At is where, in bytes from the beginning.
	At int
	// What is wrong.
	What string
}

// Error says what is wrong, at which character, and what stands there.
func (e *Error) Error() string {
	column := utf8.RuneCountInString(e.Query[:e.At]) + 1
	there := []rune(strings.Join(strings.Fields(e.Query[e.At:]), " "))
	switch {
	case len(there) == 0:
		return fmt.Sprintf("query, at its end: %s", e.What)
	case len(there) > 20:
		there = append(there[:17], '.', '.', '.')
	}
	return fmt.Sprintf("query, character %d, at %q: %s", column, string(there), e.What)
}

// kind is that of a token.
type kind string

const (
	end    kind = "the end"
	name   kind = "a name"
	text   kind = "text"
	number kind = "a number"
	sign   kind = "a sign"
)

type token struct {
	kind kind
	at   int
	// word is the name, what the text says, the number's digits, or the sign.
	word string
}

// signs are those with more characters first.
var signs = []string{"==", "!=", "<=", ">=", "&&", "||", "=>", "<", ">", "(", ")", "[", "]", ".", ","}

// maxQuery is how long a query is at most, in bytes.
const maxQuery = 4096

// tokens are the words of a query; the last is the end.
func tokens(query string) ([]token, error) {
	var all []token
	if len(query) > maxQuery {
		return nil, &Error{query, maxQuery, fmt.Sprintf("a query has %d bytes at most", maxQuery)}
	}
	if !utf8.ValidString(query) {
		return nil, &Error{strings.ToValidUTF8(query, "?"), 0, "it isn't UTF-8"}
	}
	for i := 0; i < len(query); {
		if strings.ContainsRune(" \t\r\n", rune(query[i])) {
			i++
			continue
		}
		t, length, err := next(query, i)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
		i += length
	}
	return append(all, token{end, len(query), ""}), nil
}

// next is the token that begins there, and how long it is.
func next(query string, at int) (token, int, error) {
	rest := query[at:]
	first := rest[0]
	switch {
	case first == '"' || first == '\'':
		word, length, ok := quoted(rest)
		if !ok {
			return token{}, 0, &Error{query, at, "this text has no end"}
		}
		return token{text, at, word}, length, nil
	case isDigit(first), first == '-' && len(rest) > 1 && isDigit(rest[1]):
		length := 1
		for length < len(rest) && (isDigit(rest[length]) || rest[length] == '.') {
			length++
		}
		if _, err := strconv.ParseFloat(rest[:length], 64); err != nil {
			return token{}, 0, &Error{query, at, fmt.Sprintf("%s is no number", rest[:length])}
		}
		return token{number, at, rest[:length]}, length, nil
	case isLetter(first):
		length := 1
		for length < len(rest) && (isLetter(rest[length]) || isDigit(rest[length]) || rest[length] == '-') {
			length++
		}
		return token{name, at, rest[:length]}, length, nil
	}
	for _, s := range signs {
		if strings.HasPrefix(rest, s) {
			return token{sign, at, s}, len(s), nil
		}
	}
	what := "this has no meaning in a query"
	switch first {
	case '=':
		what = `a comparison is written "=="`
	case '&', '|':
		what = fmt.Sprintf("it is written %q", strings.Repeat(string(first), 2))
	case '!':
		what = `there is no "not": compare with == or !=`
	}
	return token{}, 0, &Error{query, at, what}
}

// quoted is text with its quotes; a backslash takes the next character as it is.
func quoted(s string) (word string, length int, ok bool) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch {
		case s[i] == s[0]:
			return b.String(), i + 1, true
		case s[i] == '\\' && i+1 < len(s):
			i++
		}
		b.WriteByte(s[i])
	}
	return "", 0, false
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isLetter(c byte) bool { return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
