package recording_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"pgregory.net/rapid"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/recording"
)

// said is a content that the recording has.
func said(s string) recording.Content { return recording.Content{Bytes: []byte(s)} }

// ofJSON is a body of JSON.
func ofJSON(s string) recording.Body {
	return recording.Body{Type: "application/json", Content: said(s)}
}

// sampleAsked is a run that has asked a Pebble of each sort of things.
func sampleAsked() *recording.Recording {
	r := sample()
	r.Calls, r.State, r.CutOff, r.Outcome, r.Exit = nil, nil, false, history.Committed, 0
	r.Containers = []recording.Container{{Name: "web", State: recording.ContainerUp}, {Name: "db", State: recording.ContainerDown}}
	r.Asked = []recording.Asked{
		{Container: "web", Method: "POST", Path: "/v1/layers", Status: 200, Answer: ofJSON(`{"type":"sync","result":true}`),
			Body: ofJSON(`{"action":"add","format":"yaml","layer":"services:\n  s:\n    command: run\n    environment:\n      DB_PASSWORD: hunter2-in-clear\n"}`)},
		{Container: "web", Method: "POST", Path: "/v1/files", Status: 200, At: 1, Took: time.Millisecond, Answer: ofJSON(`{"result":[]}`),
			Body: recording.Body{Type: "multipart/form-data", Parts: []recording.Part{
				{Name: "request", Type: "application/json", Content: said(`{"action":"write"}`)},
				{Name: "files", File: "/srv/a \"b\"", Type: "application/octet-stream", Content: said("port = 80\npassword = hunter3-in-clear\n")},
			}}},
		{Container: "web", Method: "GET", Path: "/v1/files?action=read&path=%2Fsrv", At: 2, Status: 200,
			Answer: recording.Body{Type: "multipart/form-data", Parts: []recording.Part{
				{Name: "files", File: "/srv", Content: recording.Content{Size: 1 << 20, Digest: "sha256:00ff"}},
			}}},
		{Container: "web", Method: "POST", Path: "/v1/exec", At: 3, Status: 202,
			Body:   ofJSON(`{"command":["login","--password","hunter4-in-clear","--token=hunter5-in-clear"]}`),
			Answer: ofJSON(`{"change":"7","result":{"task-id":"9"}}`),
			Exec:   &recording.Exec{Stdin: said("in"), Stdout: said("out\n"), Stderr: said("hunter2-in-clear"), Exit: "3"}},
		{Container: "web", Method: "GET", Path: "/v1/changes/7/wait?timeout=4.000s", At: 4, Took: 1},
	}
	return r
}

func TestWhatWasAskedReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	b := roundTrip(t, sampleAsked())
	for _, want := range []string{
		", and what it asked of Pebble. To run", "\ncontainers:\n    - name: web\n      state: up\n    - name: db\n      state: down\n",
		"-- pebble/0001 --\ncontainer: web\nrequest: POST /v1/layers\nstatus: 200\n", "\nbody, no newline at its end: application/json\n  {\"action\"",
		"\nbody part: files \"/srv/a \\\"b\\\"\" application/octet-stream\n  port = 80\n", "\nexit: 3\nstdin, no newline at its end:\n  in\n",
		"\nanswer part, left out: files /srv \"\" 1048576 sha256:00ff\n",
	} {
		if !strings.Contains(string(b), want) {
			t.Errorf("there is no %q in\n%s", want, b)
		}
	}
	for _, c := range []struct{ old, new, want string }{
		{"-- pebble/0001 --", "-- pebble/0002 --", "requests are numbered from 1 on"},
		{"request: POST /v1/layers", "request: POST", "pebble/0001: line 2: request: \"POST\" not valid"},
		{"state: down", "state: odd", `state "odd" of a container`},
		{"name: db", "name: ../db", `container "../db"`},
		{"1048576 sha256:00ff", "sha256:00ff", "size \"\" not valid"},
		{"\nstatus: 202", "\nstate: 202", "\"state\" not valid"},
	} {
		_, err := recording.Parse(bytes.Replace(b, []byte(c.old), []byte(c.new), 1))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %s", c.new, err, c.want)
		}
	}
}

func TestAnyContentReadsBackAsItWasWritten(t *testing.T) {
	t.Parallel()
	words := rapid.OneOf(rapid.String(), rapid.StringMatching(`( ?[a:"-]? ?\n?){0,6}`))
	rapid.Check(t, func(t *rapid.T) {
		r := sampleAsked()
		a := &r.Asked[3]
		a.Body = recording.Body{Type: words.Draw(t, "type"), Content: said(words.Draw(t, "body"))}
		a.Exec.Stdout = recording.Content{Bytes: rapid.SliceOf(rapid.Byte()).Draw(t, "stdout")}
		r.Asked[1].Body.Parts[1] = recording.Part{words.Draw(t, "name"), words.Draw(t, "file"), words.Draw(t, "kind"), said(words.Draw(t, "part"))}
		r.AskedNote = words.Draw(t, "note")
		roundTrip(t, r)
	})
}

func TestSecretsAreTakenOutOfWhatWasAsked(t *testing.T) {
	t.Parallel()
	r := sampleAsked()
	hidden := recording.Redact(recording.Hide(r, []recording.Secret{{Key: "x", Value: "services"}}), nil)
	b, err := hidden.Format()
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(b), "in-clear") || strings.Contains(string(b), "services") || !strings.Contains(string(b), "DB_PASSWORD: redacted-") {
		t.Errorf("in\n%s", b)
	}
	if !strings.Contains(string(r.Asked[0].Body.Bytes), "hunter2-in-clear") {
		t.Error("the recording itself was changed")
	}
}

// standIn is a client of a stand-in for the Pebble of web, of a recording without
// secrets.
func standIn(t *testing.T, r *recording.Recording) (*http.Client, *recording.Player, func()) {
	t.Helper()
	p := recording.NewPlayer(recording.Redact(r, nil), "", false)
	dir, err := os.MkdirTemp("", "u")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := recording.StandInFor(l, p, "web", nil)
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
	return c, p, func() { s.Close() }
}

func TestAStandInAnswersWhatWasRecorded(t *testing.T) {
	t.Parallel()
	r := sampleAsked()
	r.Asked = append(r.Asked[:1:1], r.Asked[3])
	c, p, end := standIn(t, r)
	// Other secrets, and another order of keys, are the same.
	if got := post(t, c, "/v1/layers", `{"layer":"services: {s: {environment: {DB_PASSWORD: mine}, command: run}}","format":"yaml","action":"add"}`); got != `200 {"type":"sync","result":true}` {
		t.Error(got)
	}
	post(t, c, "/v1/exec", `{"command":["login","--password","other","--token=third"]}`)
	ws, _, err := websocket.Dial(t.Context(), "ws://x/v1/tasks/9/websocket/stdio", &websocket.DialOptions{HTTPClient: c})
	if err != nil {
		t.Fatal(err)
	}
	_, out, err := ws.Read(t.Context())
	_, last, lerr := ws.Read(t.Context())
	if string(out) != "out\n" || string(last) != `{"command":"end"}` || err != nil || lerr != nil {
		t.Errorf("%q, %q, %v, %v", out, last, err, lerr)
	}
	if err := ws.Write(context.Background(), websocket.MessageBinary, []byte("in")); err != nil {
		t.Error(err)
	}
	ws.CloseNow()
	end()
	if d := p.Finish(0); len(d) > 0 || p.MadeAsked() != 2 {
		t.Errorf("%+v, %d requests", d, p.MadeAsked())
	}
}

func TestAStandInTellsWhereARequestDiffers(t *testing.T) {
	t.Parallel()
	layer := `{"action":"add","format":"yaml","layer":"services: {s: {command: %s, environment: {DB_PASSWORD: x}}}"}`
	for _, c := range []struct {
		name string
		do   func(*http.Client)
		want string
	}{
		{"another body", func(c *http.Client) { post(t, c, "/v1/layers", fmt.Sprintf(layer, "stop")) }, "request 1 to Pebble differs"},
		{"another path", func(c *http.Client) { post(t, c, "/v1/services", "{}") }, "request 1 to Pebble differs"},
		{"nothing", func(*http.Client) {}, "recorded request 1 to Pebble was not made"},
		{"one more", func(c *http.Client) {
			post(t, c, "/v1/layers", fmt.Sprintf(layer, "run"))
			if got := post(t, c, "/v1/signals", "{}"); !strings.Contains(got, "not in the recording") {
				t.Error(got)
			}
		}, "request 2 to Pebble is not in the recording, which has 1"},
	} {
		r := sampleAsked()
		r.Asked = r.Asked[:1]
		client, p, end := standIn(t, r)
		c.do(client)
		end()
		if d := p.Finish(0); len(d) != 1 || d[0].What != c.want {
			t.Errorf("%s: %+v, want %s", c.name, d, c.want)
		}
	}
}

func TestAStandInSaysWhatTheRecordingLacks(t *testing.T) {
	t.Parallel()
	r := sampleAsked()
	r.Asked = r.Asked[2:3]
	c, p, end := standIn(t, r)
	answer, err := c.Get("http://x/v1/files?path=%2Fsrv&action=read")
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(answer.Body)
	answer.Body.Close()
	if err != nil || !strings.Contains(string(b), "the content is not in the recording, as it was too large") {
		t.Errorf("%s, %v", b, err)
	}
	end()
	const want = "what Pebble said to request 1 is not in the recording: it is 1048576 bytes large"
	if d := p.Finish(0); len(d) != 1 || d[0].What != want {
		t.Errorf("%+v", d)
	}
}

// post is the status and the body of an answer.
func post(t *testing.T, c *http.Client, path, body string) string {
	t.Helper()
	answer, err := c.Post("http://x"+path, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	b, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%d %s", answer.StatusCode, b)
}
