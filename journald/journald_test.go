package journald

import (
	"bytes"
	"encoding/binary"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// listen is a journal of the test's own.
func listen(t *testing.T) (path string, journal *net.UnixConn) {
	t.Helper()
	dir, err := os.MkdirTemp("", "j") // a short path
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	path = filepath.Join(dir, "socket")
	journal, err = net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { journal.Close() })
	if err := journal.SetReadDeadline(time.Now().Add(2 * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return path, journal
}

// receive is the next record, and whether it came in a sealed file.
func receive(t *testing.T, journal *net.UnixConn) (fields []Field, file bool) {
	t.Helper()
	b, oob := make([]byte, 1<<20), make([]byte, 1024)
	n, o, _, _, err := journal.ReadMsgUnix(b, oob)
	if err != nil {
		t.Fatal(err)
	}
	if b = b[:n]; o > 0 {
		b, file = sealed(t, oob[:o]), true
	}
	fields, err = parse(b)
	if err != nil {
		t.Fatalf("%v: %q", err, b)
	}
	return fields, file
}

// parse reads the protocol as its description has it.
func parse(b []byte) (fields []Field, err error) {
	for len(b) > 0 {
		end := bytes.IndexByte(b, '\n')
		if end < 0 {
			return nil, errors.New("a field has no end")
		}
		if name, value, ok := strings.Cut(string(b[:end]), "="); ok {
			fields, b = append(fields, Field{name, value}), b[end+1:]
			continue
		}
		name, rest := string(b[:end]), b[end+1:]
		if len(rest) < 8 {
			return nil, errors.New("a field has no length")
		}
		size := binary.LittleEndian.Uint64(rest)
		if rest = rest[8:]; uint64(len(rest)) < size+1 || rest[size] != '\n' {
			return nil, errors.New("a field isn't as long as it says")
		}
		fields, b = append(fields, Field{name, string(rest[:size])}), rest[size+1:]
	}
	return fields, nil
}

func TestARecordHasItsAttributesAsFields(t *testing.T) {
	t.Parallel()
	path, journal := listen(t)
	socket, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	log := slog.New(Handler{Socket: socket, Identifier: "unitd"}).With("model", "default")
	log.Warn("two\nlines", "unit", "a/0", "again-in", time.Minute, "err", errors.New("no\nroom"), "free", 1.5)
	got, file := receive(t, journal)
	want := []Field{
		{"MESSAGE", "two\nlines model=default unit=a/0 again-in=1m0s err=\"no\\nroom\" free=1.5"}, {"PRIORITY", "4"}, {"SYSLOG_IDENTIFIER", "unitd"},
		{"UNITD_MODEL", "default"}, {"UNITD_UNIT", "a/0"}, {"UNITD_AGAIN_IN", "1m0s"}, {"UNITD_ERR", "no\nroom"}, {"UNITD_FREE", "1.5"},
	}
	if !slices.Equal(got, want) || file {
		t.Errorf("got  %q, %v\nwant %q", got, file, want)
	}
	log.WithGroup("disk").With("of", "x").Error("full", slog.Group("at", "path", "/"))
	got, _ = receive(t, journal)
	want = []Field{
		{"MESSAGE", "full model=default disk.of=x disk.at.path=/"}, {"PRIORITY", "3"}, {"SYSLOG_IDENTIFIER", "unitd"},
		{"UNITD_MODEL", "default"}, {"UNITD_DISK_OF", "x"}, {"UNITD_DISK_AT_PATH", "/"},
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	log.Debug("unsaid")
	log.Info("said")
	if got, _ = receive(t, journal); got[0].Value != "said model=default" || got[1].Value != "6" {
		t.Errorf("got %q", got)
	}
}

func TestWhatIsSentIsReadAgain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Custom(func(t *rapid.T) Field {
			return Field{Name(rapid.StringN(1, 80, -1).Draw(t, "name")), string(rapid.SliceOf(rapid.Byte()).Draw(t, "value"))}
		})).Draw(t, "fields")
		var b []byte
		for _, f := range want {
			if f.Name[0] < 'A' || f.Name[0] > 'Z' || len(f.Name) > 64 {
				t.Fatalf("the journal takes no field %q", f.Name)
			}
			b = appendField(b, f)
		}
		got, err := parse(b)
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q is %q, %v", want, got, err)
		}
	})
}

func TestAJournalThatIsBegunAnewIsFoundAgain(t *testing.T) {
	t.Parallel()
	path, journal := listen(t)
	socket, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	journal.Close()
	_ = os.Remove(path)
	var b bytes.Buffer
	log := slog.New(Handler{Socket: socket, Identifier: "unitd", Else: slog.NewTextHandler(&b, nil)}).With("unit", "a/0")
	log.Info("nobody listens")
	if !strings.Contains(b.String(), `msg="nobody listens" unit=a/0`) {
		t.Errorf("what the journal didn't take is lost: %q", b.String())
	}
	anew, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer anew.Close()
	log.Info("again")
	if got, _ := receive(t, anew); got[0].Value != "again unit=a/0" {
		t.Errorf("got %q", got)
	}
	if _, err := Open(path + "-none"); !errors.Is(err, errors.NotFound) || !strings.Contains(err.Error(), "no journal listens at") {
		t.Errorf("got %v", err)
	}
}

func TestAStreamIsKnownByItsDeviceAndInode(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	var st unix.Stat_t
	if err := unix.Fstat(int(w.Fd()), &st); err != nil {
		t.Fatal(err)
	}
	value := streamOf(uint64(st.Dev), st.Ino) //nolint:unconvert // of other types elsewhere
	if !IsStream(w, value) {
		t.Errorf("it isn't %s", value)
	}
	for _, other := range []string{"", "1:2", value + "0"} {
		if IsStream(w, other) {
			t.Errorf("it is %q", other)
		}
	}
}
