package recording

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
)

// leftOut is a way in which a content is written: by its size and digest alone.
const leftOut = ", left out"

// format is a request as text: lines "key: value", and contents as blocks below a
// line that says of what type they are.
func (a Asked) format() string {
	var b strings.Builder
	fmt.Fprintf(&b, "container: %s\nrequest: %s\nstatus: %d\nat: %s\ntook: %s\n",
		quoteLine(a.Container), QuoteWords([]string{a.Method, a.Path}), a.Status, a.At, a.Took)
	formatBody(&b, "body", a.Body)
	if e := a.Exec; e != nil {
		if e.Exit != "" {
			fmt.Fprintf(&b, "exit: %s\n", e.Exit)
		}
		formatContent(&b, "stdin", e.Stdin)
		formatContent(&b, "control", e.Control)
		formatContent(&b, "stdout", e.Stdout)
		formatContent(&b, "stderr", e.Stderr)
	}
	formatBody(&b, "answer", a.Answer)
	return b.String()
}

func formatBody(b *strings.Builder, what string, body Body) {
	if body.Type != "" || len(body.Bytes) > 0 || body.LeftOut() {
		formatContent(b, what, body.Content, body.Type)
	}
	for _, p := range body.Parts {
		formatContent(b, what+" part", p.Content, p.Name, p.File, p.Type)
	}
}

// formatContent writes a content under a heading with words.
func formatContent(b *strings.Builder, what string, c Content, words ...string) {
	if c.LeftOut() {
		fmt.Fprintf(b, "%s%s: %s\n", what, leftOut, QuoteWords(append(words, strconv.FormatInt(c.Size, 10), c.Digest)))
		return
	}
	how, lines := blockOf(c.Bytes)
	b.WriteString(strings.TrimRight(what+how+": "+QuoteWords(words), " ") + "\n" + lines)
}

// parseAsked reads one request.
func parseAsked(lines []string) (a Asked, err error) {
	err = parseFields(lines, a.set)
	if err == nil && (a.Container == "" || a.Method == "" || a.Path == "") {
		err = errors.NotValidf("request without a container, a method or a path")
	}
	return a, err
}

func (a *Asked) set(key, value, how string, block []string) (err error) {
	switch key {
	case "container":
		a.Container, err = unquoteLine(value)
	case "request":
		var words []string
		if words, err = splitWords(value); err == nil && len(words) != 2 {
			err = errors.NotValidf("%q", value)
		}
		if err == nil {
			a.Method, a.Path = words[0], words[1]
		}
	case "status":
		a.Status, err = strconv.Atoi(value)
	case "at":
		a.At, err = time.ParseDuration(value)
	case "took":
		a.Took, err = time.ParseDuration(value)
	case "exit":
		a.exec().Exit = value
	default:
		err = a.setContent(key, value, how, block)
	}
	return errors.Annotatef(err, "%s", key)
}

// exec is Exec, made if it is missing.
func (a *Asked) exec() *Exec {
	if a.Exec == nil {
		a.Exec = &Exec{}
	}
	return a.Exec
}

// wordsOf is how many words the heading of each content has, beside a size and a
// digest.
var wordsOf = map[string]int{"body": 1, "answer": 1, "body part": 3, "answer part": 3, "stdin": 0, "control": 0, "stdout": 0, "stderr": 0}

func (a *Asked) setContent(key, value, how string, block []string) error {
	count, ok := wordsOf[key]
	if !ok {
		return errors.NotValidf("%.40q", key)
	}
	c, words, err := parseContent(value, how, block)
	if err != nil {
		return err
	}
	if len(words) != count {
		return errors.NotValidf("%d words, which should be %d,", len(words), count)
	}
	switch key {
	case "body":
		a.Body.Type, a.Body.Content = words[0], c
	case "answer":
		a.Answer.Type, a.Answer.Content = words[0], c
	case "body part":
		a.Body.Parts = append(a.Body.Parts, Part{words[0], words[1], words[2], c})
	case "answer part":
		a.Answer.Parts = append(a.Answer.Parts, Part{words[0], words[1], words[2], c})
	case "stdin":
		a.exec().Stdin = c
	case "control":
		a.exec().Control = c
	case "stdout":
		a.exec().Stdout = c
	case "stderr":
		a.exec().Stderr = c
	}
	return nil
}

// parseContent is the opposite of formatContent.
func parseContent(value, how string, block []string) (c Content, words []string, err error) {
	if words, err = splitWords(value); err != nil {
		return c, nil, err
	}
	switch how {
	case asLines, unended, asStrings:
		b, err := parseBlock(how, block)
		return Content{Bytes: b}, words, err
	case leftOut:
	default:
		return c, nil, errors.NotValidf("%q", how)
	}
	n := len(words) - 2
	if n < 0 || len(block) > 0 || !strings.HasPrefix(words[n+1], "sha256:") {
		return c, nil, errors.NotValidf("%.40q, which should end with a size and a digest,", value)
	}
	c.Digest = words[n+1]
	if c.Size, err = strconv.ParseInt(words[n], 10, 64); err != nil || c.Size < 0 {
		return c, nil, errors.NotValidf("size %.40q", words[n])
	}
	return c, words[:n], nil
}
