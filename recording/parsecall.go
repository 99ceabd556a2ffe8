package recording

import (
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"
)

// parseCall reads one call.
func parseCall(lines []string) (c Call, err error) {
	if err := parseFields(lines, c.set); err != nil {
		return c, err
	}
	if len(c.Args) == 0 {
		return c, errors.NotValidf("call without an argv")
	}
	return c, nil
}

// parseFields reads lines "key: value", with blocks of text below them.
func parseFields(lines []string, set func(key, value, how string, block []string) error) error {
	for i := 0; i < len(lines); {
		key, value, ok := strings.Cut(lines[i], ":")
		key, how := cutHow(key)
		end := i + 1
		for end < len(lines) && (lines[end] == "" || lines[end][0] == ' ') {
			end++
		}
		err := errors.NotValidf("line %.40q, which has no colon,", lines[i])
		if ok {
			err = set(key, strings.TrimSpace(value), how, lines[i+1:end])
		}
		if err != nil {
			return errors.Annotatef(err, "line %d", i+1)
		}
		i = end
	}
	return nil
}

// cutHow takes the way in which a block is written off its heading.
func cutHow(key string) (name, how string) {
	i := strings.IndexByte(key, ',')
	if i < 0 {
		return key, asLines
	}
	return key[:i], key[i:]
}

func (c *Call) set(key, value, how string, block []string) (err error) {
	if how != asLines && how != unended && how != asStrings {
		return errors.NotValidf("%q after %q", how, key)
	}
	switch key {
	case "argv":
		c.Args, err = splitWords(value)
	case "exit":
		c.Code, err = strconv.Atoi(value)
	case "at":
		c.At, err = time.ParseDuration(value)
	case "took":
		c.Took, err = time.ParseDuration(value)
	case "stdin":
		c.StdinSet = true
		c.Stdin, err = parseBlock(how, block)
	case "file":
		c.File, err = parseBlock(how, block)
	case "stdout":
		c.Stdout, err = parseBlock(how, block)
	case "stderr":
		c.Stderr, err = parseBlock(how, block)
	default:
		return errors.NotValidf("%.40q", key)
	}
	if err != nil {
		return errors.Annotatef(err, "%s", key)
	}
	return nil
}
