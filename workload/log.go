package workload

import (
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

const (
	// maxLog is how large the file with what a Pebble prints may become, and keptLog
	// how much of its end stays then, in bytes.
	maxLog, keptLog = 4 << 20, 1 << 20
	// wordsRead is how much of its end is searched for why a Pebble has ended, and
	// maxReason how many characters of that people are told.
	wordsRead, maxReason = 16 << 10, 300
)

// ofPebble is how lines begin that Pebble has logged, its own ones and those of
// services: by the time.
var ofPebble = pattern.New(`^\d{4}-\d\d-\d\dT[0-9:.]+Z? \[`)

// Printed is the end of what a container's Pebble has printed, and its services by
// it, from that file: as many lines as wanted, or all that there are if that is
// negative. It is empty where there is no such file.
func Printed(path string, lines int) (string, error) {
	text, err := tail(path, maxLog+keptLog)
	if err != nil {
		return "", errors.Trace(err)
	}
	text = strings.TrimSuffix(text, "\n")
	if text == "" || lines == 0 {
		return "", nil
	}
	all := strings.Split(text, "\n")
	if lines > 0 && lines < len(all) {
		all = all[len(all)-lines:]
	}
	return strings.Join(all, "\n") + "\n", nil
}

// tail is the end of a file, of at most so many bytes and whole lines; that there is
// no such file is no error.
func tail(path string, most int64) (string, error) {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return "", nil
	}
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return "", errors.Trace(err)
	}
	from := max(0, st.Size()-most)
	b, err := io.ReadAll(io.NewSectionReader(f, from, most))
	text := string(b)
	if from > 0 {
		_, text, _ = strings.Cut(text, "\n")
	}
	return text, errors.Trace(err)
}

// lastWords is in a line why a Pebble has ended, by the end of what it has printed;
// empty: it didn't say. What services have printed is none of it.
func lastWords(path string) string {
	text, err := tail(path, wordsRead)
	if err != nil {
		return ""
	}
	var words []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case ofPebble.MatchString(line):
			words = nil
		case strings.HasPrefix(line, "cannot "), strings.HasPrefix(line, "error: "):
			words = []string{line}
		case len(words) > 0 && line != "":
			words = append(words, line)
		}
	}
	line := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.Join(words, " ")))
	if len(line) > maxReason {
		return string(line[:maxReason-1]) + "…"
	}
	return string(line)
}

// bound keeps the file with what a Pebble prints from growing for ever. The Pebble
// goes on writing to the same file; what it prints in this moment may be lost.
func bound(path string) error {
	st, err := os.Stat(path)
	if os.IsNotExist(err) || err == nil && st.Size() <= maxLog {
		return nil
	}
	if err != nil {
		return errors.Trace(err)
	}
	text, err := tail(path, keptLog)
	if err != nil {
		return errors.Trace(err)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return errors.Trace(err)
	}
	if err = f.Truncate(0); err == nil {
		_, err = f.WriteString(text)
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	return errors.Trace(err)
}
