package tools

import (
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/juju/errors"
)

// The output formats. Source: docs/spec/hook-tools.md §3.
const (
	smart  = "smart" // text for shell scripts
	inYAML = "yaml"
	inJSON = "json"
)

// output is where a tool's result goes, and how: --format and --output.
type output struct {
	format formatFlag
	file   string
}

// declare declares the flags. The first of the formats is the default.
func (o *output) declare(f *flags, formats ...string) {
	o.format = formatFlag{formats[0], formats}
	f.Var(&o.format, "format", "Specify output format ("+strings.Join(slices.Sorted(slices.Values(formats)), "|")+")")
	f.StringVar(&o.file, "o", "", "Specify an output file")
	f.StringVar(&o.file, "output", "", "")
}

// formatFlag is one of some formats.
type formatFlag struct {
	name    string
	choices []string
}

func (f *formatFlag) Set(s string) error {
	if !slices.Contains(f.choices, s) {
		return errors.Errorf("unknown format %q", s)
	}
	f.name = s
	return nil
}

func (f *formatFlag) String() string { return f.name }

// write writes the result: nil for none, a string, bool, number, a list of
// strings, or what encodes as an object.
func (o *output) write(c *call, value any) error {
	text, err := formatted(o.format.name, value)
	if err != nil {
		return errors.Trace(err)
	}
	if o.file == "" {
		c.out.Write(text)
		return nil
	}
	return errors.Trace(writeFile(c.open, c.path(o.file), text))
}

func formatted(format string, value any) ([]byte, error) {
	switch format {
	case inJSON:
		text, err := json.Marshal(value)
		return append(text, '\n'), errors.Trace(err)
	case inYAML:
		return formatYAML(value)
	}
	return formatSmart(value)
}

// formatSmart is text as it is, one line for each of a list, Python's words
// for booleans, and YAML for the rest. Of what is empty there is no line.
func formatSmart(value any) ([]byte, error) {
	text := ""
	switch v := value.(type) {
	case nil:
	case string:
		text = v
	case []string:
		text = strings.Join(v, "\n")
		if len(v) > 0 && text == "" {
			return []byte("\n"), nil
		}
	case bool:
		text = "False"
		if v {
			text = "True"
		}
	default:
		return formatYAML(value)
	}
	if text == "" {
		return nil, nil
	}
	return []byte(text + "\n"), nil
}

// writeFile replaces the content of a file. The agent must never wait for
// somebody to read: it writes to files and to devices like /dev/null only.
func writeFile(open Opener, path string, content []byte) error {
	f, err := open(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o666)
	if err != nil {
		return errors.Trace(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return errors.Trace(err)
	}
	if mode := info.Mode(); !mode.IsRegular() && mode&os.ModeCharDevice == 0 {
		return errors.Errorf("open %s: not a regular file", path)
	}
	if _, err := f.Write(content); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(f.Close())
}

// readFile reads a whole file of at most limit bytes. The agent must never
// wait for somebody to write: a pipe is refused.
func readFile(open Opener, path string, limit int64) ([]byte, error) {
	f, err := open(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, errors.Trace(err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Trace(err)
	}
	if !info.Mode().IsRegular() && path != os.DevNull {
		return nil, errors.Errorf("open %s: not a regular file", path)
	}
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(content)) > limit {
		err = errors.Errorf("read %s: file larger than %d bytes", path, limit)
	}
	return content, errors.Trace(err)
}

// writeKey writes one of some settings, none where it isn't there, or all of
// them for the empty key.
func (o *output) writeKey(c *call, settings map[string]string, key string) error {
	if key == "" {
		return o.write(c, settings)
	}
	if value, ok := settings[key]; ok {
		return o.write(c, value)
	}
	return o.write(c, nil)
}
