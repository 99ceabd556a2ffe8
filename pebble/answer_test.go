package pebble

import (
	"bytes"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/juju/errors"
)

// FuzzAnswer: whatever comes is an answer, a refusal or garbage, and of what is
// decoded everything can be used.
func FuzzAnswer(f *testing.F) {
	for _, s := range []string{
		`{"type":"sync","status-code":200,"status":"OK","result":{"boot-id":"5d2c","http-address":":38813","version":"v1.32.1"}}`,
		`{"type":"error","status-code":404,"status":"Not Found","result":{"message":"cannot find change with id \"12\"","kind":"not-found"}}`,
		`{"type":"async","status-code":202,"change":"7","result":{"task-id":"8"}}`,
		`{"type":"sync","result":[{"id":"3","user-id":0,"type":"custom","key":"example.com/b","last-repeated":"2026-01-02T03:04:06.000000001Z","last-data":{"k":"v"},"expire-after":"168h0m0s"}]}`,
		`{"type":"sync","result":{"id":"12","kind":"perform-check","status":"Error","ready":true,"tasks":[{"data":{"exit-code":1}}],"ready-time":"2026-01-02T03:04:06Z"}}`,
		`{"type":"sync","result":[{"path":"/a","name":"a","type":"file","size":3,"permissions":"644","last-modified":"2026-01-02T03:04:06Z","user-id":null}]}`,
		`{"type":"sync","result":[{"path":"/a","error":{"message":"no","kind":"not-found"}}]}`,
		`[]`, ``, `{"type":"sync"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, err := readAnswer(bytes.NewReader(raw))
		checked(t, err)
		if err != nil {
			return
		}
		var done []fileDone
		for _, into := range []any{&SystemInfo{}, &[]Notice{}, &Change{}, &[]Check{}, &[]Service{}, &[]FileInfo{}, &done} {
			checked(t, a.into(into))
		}
		checked(t, single(done))
	})
}

func checked(t *testing.T, err error) {
	t.Helper()
	var refused *APIError
	if err != nil && !errors.Is(err, ErrGarbage) && !errors.As(err, &refused) {
		t.Errorf("it is no refusal and no garbage: %v", err)
	}
	if err != nil && (len(err.Error()) > 1<<20 || refused == nil && strings.Contains(err.Error(), "\n")) {
		t.Errorf("the error has more than a line: %.200q", err.Error())
	}
}

// FuzzNotice: a notice that is taken has all that order and hooks need.
func FuzzNotice(f *testing.F) {
	f.Add([]byte(`{"id":"3","user-id":0,"type":"custom","key":"example.com/b","last-repeated":"2026-01-02T03:04:06.000000001Z","repeat-after":"1h","last-data":{"k":"v"}}`))
	f.Add([]byte(`{"id":"4","user-id":null,"type":"change-update","key":"12","last-repeated":"0001-01-01T00:00:00Z"}`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		var n Notice
		if n.UnmarshalJSON(raw) != nil {
			return
		}
		if n.ID == "" || n.Type == "" || n.Key == "" || n.LastRepeated.IsZero() {
			t.Errorf("a notice without what it must have: %+v", n)
		}
		if _, err := time.Parse(time.RFC3339Nano, n.LastRepeated.UTC().Format(time.RFC3339Nano)); err != nil && n.LastRepeated.UTC().Year() < 10000 && n.LastRepeated.UTC().Year() >= 0 {
			t.Errorf("its time can't be asked for: %v", err)
		}
	})
}

// FuzzFile: the parts of a file's answer.
func FuzzFile(f *testing.F) {
	f.Add("multipart/form-data; boundary=b", []byte("--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"/x\"\r\n\r\ncontent\r\n--b\r\n"+
		"Content-Disposition: form-data; name=\"response\"\r\n\r\n{\"type\":\"sync\",\"result\":[{\"path\":\"/x\"}]}\r\n--b--\r\n"))
	f.Add("application/json", []byte(`{"type":"error","result":{"message":"no"}}`))
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		var got bytes.Buffer
		err := readParts(http.Header{"Content-Type": {kind}}, bytes.NewReader(body), &got)
		if err == nil && !bytes.Contains(body, []byte("sync")) {
			t.Error("a file without an answer is taken")
		}
	})
}

// TestTheEnvelopeOfAFileIsAMultipartBody reads what WriteFile sends, whatever the
// path.
func TestTheEnvelopeOfAFileIsAMultipartBody(t *testing.T) {
	t.Parallel()
	head, tail, kind, err := WriteOptions{Parents: true, Permissions: 0o7}.envelope("/a \"b\"/ü")
	if err != nil {
		t.Fatal(err)
	}
	parts := multipart.NewReader(io.MultiReader(head, strings.NewReader("content"), tail), strings.TrimPrefix(kind, "multipart/form-data; boundary="))
	var got []string
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		content, _ := io.ReadAll(part)
		got = append(got, part.FormName(), string(content))
	}
	want := `request|{"action":"write","files":[{"make-dirs":true,"path":"/a \"b\"/ü","permissions":"007"}]}|files|content`
	if strings.Join(got, "|") != want {
		t.Errorf("it is %q, want %q", got, want)
	}
}
