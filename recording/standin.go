package recording

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// StandIn is a container's Pebble socket that a Player answers: HTTP as Pebble
// speaks it, and the websockets of commands. Source: docs/spec/containers.md §4.6.
type StandIn struct {
	player    *Player
	container string
	server    *http.Server
	onAsked   func(AnsweredAsked)
	streams   sync.WaitGroup
	ctx       context.Context // of the websockets
	end       context.CancelFunc
}

// AnsweredAsked is a request to a Pebble that was answered.
type AnsweredAsked struct {
	Number int
	Asked  Asked // with its answer
	// Recorded is the number of the recorded request that had the answer; 0: there
	// was none.
	Recorded int
}

// StandInFor answers in the place of a container's Pebble until Close. onAsked,
// which may be nil, is told of each request, and may be called many times at once.
func StandInFor(l net.Listener, p *Player, container string, onAsked func(AnsweredAsked)) *StandIn {
	s := &StandIn{player: p, container: container, onAsked: onAsked}
	s.ctx, s.end = context.WithCancel(context.Background())
	s.server = &http.Server{Handler: s, ReadHeaderTimeout: patience, ErrorLog: log.New(io.Discard, "", 0)}
	go func() { _ = s.server.Serve(l) }() // until it is closed
	return s
}

// Close hangs up on whoever is connected, and returns when what was said is noted.
func (s *StandIn) Close() error {
	err := s.server.Close()
	// What the charm has said last may still be on its way; then it has ended, or hangs
	// on for ever.
	late := time.AfterFunc(lastWords, s.end)
	s.streams.Wait()
	late.Stop()
	s.end()
	return err
}

// lastWords is how long a websocket may stay open when the hook has ended.
const lastWords = 2 * time.Second

// ServeHTTP is part of http.Handler.
func (s *StandIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if m := websocketPath.FindStringSubmatch(r.URL.Path); m != nil {
		s.streams.Add(1)
		defer s.streams.Done()
		s.stream(w, r, m[1], m[2])
		return
	}
	asked := Asked{Container: s.container, Method: r.Method, Path: r.RequestURI}
	asked.Body = readBody(r.Header.Get("Content-Type"), r.Body)
	answer, number, recorded := s.player.Ask(asked)
	if s.onAsked != nil {
		s.onAsked(AnsweredAsked{Number: number, Asked: answer, Recorded: recorded})
	}
	switch {
	case recorded == 0:
		refuse(w, http.StatusInternalServerError, "not in the recording")
	case answer.Status == 0:
		panic(http.ErrAbortHandler) // as it was then: no answer
	case answer.lacksAnswer():
		refuse(w, http.StatusInternalServerError, "the content is not in the recording, as it was too large")
	default:
		answer.Answer.write(w, answer.Status)
	}
}

// lacksAnswer says whether the answer was too large to be kept.
func (a *Asked) lacksAnswer() bool {
	for _, p := range a.Answer.Parts {
		if p.LeftOut() {
			return true
		}
	}
	return a.Answer.LeftOut()
}

// refuse is an error as Pebble says it.
func refuse(w http.ResponseWriter, status int, message string) {
	b, err := json.Marshal(map[string]any{
		"type": "error", "status-code": status, "status": http.StatusText(status), "result": map[string]string{"message": message},
	})
	if err != nil {
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(b) // who has gone needs none
}

// write answers with the body.
func (b Body) write(w http.ResponseWriter, status int) {
	if b.Type != multipartType {
		w.Header().Set("Content-Type", b.Type)
		w.WriteHeader(status)
		_, _ = w.Write(b.Bytes)
		return
	}
	var all bytes.Buffer
	form := multipart.NewWriter(&all)
	quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`)
	for _, p := range b.Parts {
		disposition := `form-data; name="` + quote.Replace(p.Name) + `"`
		if p.File != "" {
			disposition += `; filename="` + quote.Replace(p.File) + `"`
		}
		header := textproto.MIMEHeader{"Content-Disposition": {disposition}}
		if p.Type != "" {
			header.Set("Content-Type", p.Type)
		}
		if to, err := form.CreatePart(header); err == nil {
			_, _ = to.Write(p.Bytes)
		}
	}
	_ = form.Close()
	w.Header().Set("Content-Type", form.FormDataContentType())
	w.WriteHeader(status)
	_, _ = w.Write(all.Bytes())
}

// stream is a websocket of a command: what was recorded goes to the charm, and what
// the charm says is noted.
func (s *StandIn) stream(w http.ResponseWriter, r *http.Request, task, kind string) {
	e, number, ok := s.player.exec(s.container, task)
	if !ok {
		refuse(w, http.StatusNotFound, "not in the recording")
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return // it has been answered
	}
	defer ws.CloseNow()
	ws.SetReadLimit(-1)
	switch kind {
	case "stdio":
		go tellAll(s.ctx, ws, e.Stdout)
		stdin := hear(s.ctx, ws, websocket.MessageBinary)
		s.player.given(number, &stdin, nil)
	case "stderr":
		go tellAll(s.ctx, ws, e.Stderr)
		hear(s.ctx, ws, websocket.MessageBinary)
	case "control":
		control := hear(s.ctx, ws, websocket.MessageText)
		s.player.given(number, nil, &control)
	}
}

// tellAll sends what a command has printed, and that this is all.
func tellAll(ctx context.Context, ws *websocket.Conn, c Content) {
	const piece = 16 << 10
	for b := c.Bytes; len(b) > 0; b = b[min(piece, len(b)):] {
		if ws.Write(ctx, websocket.MessageBinary, b[:min(piece, len(b))]) != nil {
			return
		}
	}
	_ = ws.Write(ctx, websocket.MessageText, []byte(`{"command":"end"}`))
}

// hear takes down the messages of a kind until the charm has closed the websocket.
func hear(ctx context.Context, ws *websocket.Conn, kind websocket.MessageType) Content {
	var g gathering
	for {
		is, b, err := ws.Read(ctx)
		if err != nil {
			return g.content()
		}
		if is != kind {
			continue
		}
		_, _ = g.Write(b)
		if kind == websocket.MessageText {
			_, _ = g.Write([]byte("\n"))
		}
	}
}
