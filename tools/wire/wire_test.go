package wire

import (
	"bytes"
	"errors"
	"io"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
)

func requests() []Request {
	return []Request{
		{Args: []string{}},
		{Context: "app/0-install-00ff", Dir: "/var/lib", Args: []string{"config-get", "", "-a", "é\x00\xff"}},
		{Context: "c", Dir: "/", Args: []string{"juju-log", strings.Repeat("x", 131071)}},
		{Context: "c", Dir: "/", Args: []string{"state-set"}, StdinSet: true},
		{Context: "c", Dir: "/", Args: []string{"state-set"}, StdinSet: true, Stdin: bytes.Repeat([]byte("0123456789"), 50_000)},
	}
}

func TestWhatIsSentArrives(t *testing.T) {
	t.Parallel()
	for _, want := range requests() {
		b := AppendRequest([]byte("before"), want)[len("before"):]
		stream := bytes.NewBuffer(append(b, "after"...))
		got, err := ReadRequest(iotest.OneByteReader(stream))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got %v (%v), want %v", got, err, want)
		}
		if stream.String() != "after" {
			t.Errorf("%d bytes too many were read", len("after")-stream.Len())
		}
	}
	for _, want := range []Reply{
		{}, {Code: 2, Stderr: []byte("ERROR x\n")}, {Code: NeedStdin}, {Stdout: make([]byte, 1<<20), Stderr: []byte("y")},
	} {
		got, err := ReadReply(iotest.HalfReader(bytes.NewReader(AppendReply(nil, want))))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("got code %d (%v), want %d", got.Code, err, want.Code)
		}
	}
}

func TestWhatIsCutOffIsAnError(t *testing.T) {
	t.Parallel()
	whole := AppendRequest(nil, Request{Context: "c", Dir: "/", Args: []string{"a", "b"}, StdinSet: true, Stdin: []byte("in")})
	for n := range whole {
		if _, err := ReadRequest(bytes.NewReader(whole[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("request of %d bytes: %v", n, err)
		}
	}
	reply := AppendReply(nil, Reply{Code: 1, Stdout: []byte("out"), Stderr: []byte("err")})
	for n := range reply {
		if _, err := ReadReply(bytes.NewReader(reply[:n])); !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("reply of %d bytes: %v", n, err)
		}
	}
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"another version", []byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, ErrVersion},
		{"a head beyond its bound", []byte{1, 0, 0xff, 0, 0, 0, 0, 0, 0, 0}, ErrTooLarge},
		{"stdin beyond its bound", []byte{1, 1, 0, 0, 0, 8, 0xff, 0, 0, 0}, ErrTooLarge},
		{"stdin that is said not to be set", []byte{1, 0, 0, 0, 0, 8, 0, 0, 0, 1}, ErrFormat},
		{"a flag that isn't one", []byte{1, 2, 0, 0, 0, 8, 0, 0, 0, 1}, ErrFormat},
		{"a head without a directory", []byte{1, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0}, ErrFormat},
		{"a field longer than its head", []byte{1, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 9, 'x'}, ErrFormat},
		{"half a length", []byte{1, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0}, ErrFormat},
	} {
		if _, err := ReadRequest(bytes.NewReader(c.bytes)); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.name, err, c.want)
		}
	}
	if _, err := ReadReply(bytes.NewReader([]byte{1, 0, 0, 0, 0, 0xff, 0, 0, 0, 0, 0, 0, 0})); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a reply beyond its bound: %v", err)
	}
	if err := (Request{Args: []string{strings.Repeat("x", MaxHead)}}).Check(); !errors.Is(err, ErrTooLarge) {
		t.Errorf("Check of a request beyond its bound: %v", err)
	}
}

// Not parallel: it looks at the memory of the whole process.
func TestAnnouncedBytesTakeNoMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	header := []byte{1, 1, 0, 0, 0, 8, 0x04, 0, 0, 0} // 64 MiB of stdin
	for range 20 {
		if _, err := ReadRequest(bytes.NewReader(append(header, 0, 0, 0, 0, 0, 0, 0, 0))); err == nil {
			t.Fatal("a request that was cut off has been read")
		}
	}
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; took > 16<<20 {
		t.Errorf("took %d bytes", took)
	}
}

func FuzzReadRequest(f *testing.F) {
	for _, r := range requests() {
		f.Add(AppendRequest(nil, r))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadRequest(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again := AppendRequest(nil, r); !bytes.HasPrefix(b, again) {
			t.Errorf("%x was read as %+v, which is %x", b, r, again)
		}
	})
}

func FuzzReadReply(f *testing.F) {
	f.Add(AppendReply(nil, Reply{Code: NeedStdin, Stdout: []byte("out"), Stderr: []byte("err")}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := ReadReply(bytes.NewReader(b))
		if err != nil {
			return
		}
		if again := AppendReply(nil, r); !bytes.HasPrefix(b, again) {
			t.Errorf("%x was read as %+v, which is %x", b, r, again)
		}
	})
}
