package agentlog

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"
)

// said is what a handler writes of one record.
func said(h slog.Handler, b *bytes.Buffer) string {
	slog.New(h).With("model", "default").Warn("a message", "unit", "a/0", "in", time.Minute, "err", errors.Trace(errors.New("no room")))
	return b.String()
}

func TestEachFormIsOneLineWithTheAttributes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000000, time.FixedZone("east", 3600))
	for _, c := range []struct{ name, format, want string }{
		{"text has the host's time", Text, `time=2026-01-02T03:04:05.006+01:00 level=WARN msg="a message" model=default unit=a/0 in=1m0s err="no room"`},
		{"logfmt has time in UTC, and levels in lower case", Logfmt, `time=2026-01-02T02:04:05.006Z level=warn msg="a message" model=default unit=a/0 in=1m0s err="no room"`},
		{"json is an object", JSON, `{"time":"2026-01-02T02:04:05.006Z","level":"WARN","msg":"a message","model":"default","unit":"a/0","in":"1m0s","err":"no room"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b bytes.Buffer
			if got := said(NewHandler(&b, c.format, func() time.Time { return at }), &b); got != c.want+"\n" {
				t.Errorf("got  %swant %s", got, c.want)
			}
			b.Reset()
			h := newLevelled(&b, func(w io.Writer) slog.Handler { return NewHandler(w, c.format, func() time.Time { return at }) })
			if got := said(h, &b); got != "<4>"+c.want+"\n" {
				t.Errorf("with its level it is %s", got)
			}
		})
	}
}

func TestWhatIsAskedForHasToBeThere(t *testing.T) {
	t.Parallel()
	none := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		name string
		o    Options
		env  map[string]string
		want string // of the error
	}{
		{"nothing is asked for", Options{}, nil, ""},
		{"the environment says how", Options{}, map[string]string{FormatVariable: JSON, ToVariable: Stderr}, ""},
		{"an option is more than the environment", Options{Format: Logfmt}, map[string]string{FormatVariable: "loud"}, ""},
		{"an unknown form", Options{Format: "xml"}, nil, "--log-format xml: give one of text, logfmt, json"},
		{"an unknown form of the environment", Options{}, map[string]string{FormatVariable: "xml"}, "UNITD_LOG_FORMAT=xml: give one of text, logfmt, json"},
		{"an unknown place", Options{To: "syslog"}, nil, "--log-to syslog: give one of stderr, journald"},
		{"a form of what has none", Options{Format: JSON, To: Journal}, nil, "--log-format is for lines, and the journal has fields"},
		{"a journal that isn't there", Options{To: Journal}, map[string]string{SocketVariable: none}, "cannot log to journald: no journal listens at " + none},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			env := func(name string) string { return c.env[name] }
			o, err := c.o.Check(env)
			if err == nil {
				var log Log
				log, err = o.Open(os.Stderr, nil, env)
				log.Close()
			}
			got := ""
			if err != nil {
				got = err.Error()
			}
			if (c.want == "") != (got == "") || !strings.HasPrefix(got, c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}
