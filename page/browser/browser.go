// Package browser drives a headless Chromium, for tests of the page in a real browser. It
// speaks the DevTools protocol over two pipes, so nothing listens.
package browser

import (
	"bufio"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Page is one page of a browser of its own.
type Page struct {
	t       testing.TB
	in      io.Writer
	session string

	mu      sync.Mutex
	last    int
	replies map[int]chan message
	faults  []string
}

// message is what is sent and received.
type message struct {
	ID      int             `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Session string          `json:"sessionId,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// patience is how long is waited for what has to come.
const patience = time.Minute

// Start starts a browser with a window of that size; it ends with the test. Where there is
// no Chromium, the test is skipped.
func Start(t testing.TB, width, height int) *Page {
	t.Helper()
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("there is no chromium on this host")
	}
	home := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--hide-scrollbars",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
		"--user-data-dir="+home, fmt.Sprintf("--window-size=%d,%d", width, height), "--remote-debugging-pipe", "about:blank")
	cmd.Env = append(os.Environ(), "HOME="+home, "XDG_CONFIG_HOME="+home, "XDG_CACHE_HOME="+home)
	theirIn, in := pipe(t)
	out, theirOut := pipe(t)
	cmd.ExtraFiles = []*os.File{theirIn, theirOut}
	own(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	theirIn.Close()
	theirOut.Close()
	p := &Page{t: t, in: in, replies: map[int]chan message{}}
	var read sync.WaitGroup
	read.Go(func() { p.read(out) })
	t.Cleanup(func() {
		in.Close() // it ends by that
		cancel()
		_ = cmd.Wait()
		endAll(cmd)
		out.Close()
		read.Wait()
	})
	var target struct{ TargetID string }
	p.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var session struct{ SessionID string }
	p.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &session)
	p.session = session.SessionID
	p.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": false}, nil)
	for _, domain := range []string{"Page.enable", "Runtime.enable", "Log.enable"} {
		p.call(domain, nil, nil)
	}
	return p
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// read takes what the browser says.
func (p *Page) read(from io.Reader) {
	r := bufio.NewReaderSize(from, 1<<20)
	for {
		b, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		p.mu.Lock()
		reply := p.replies[m.ID]
		delete(p.replies, m.ID)
		switch m.Method {
		case "Runtime.exceptionThrown", "Log.entryAdded":
			// Other tests make networks on this host, and then the browser breaks off what it loads.
			// Pages ask again.
			if fault := string(m.Params); !strings.Contains(fault, networkChanged) {
				p.faults = append(p.faults, fault)
			}
		}
		p.mu.Unlock()
		if reply != nil {
			reply <- m
		}
	}
}

// call calls a method of the protocol.
func (p *Page) call(method string, params, into any) {
	p.t.Helper()
	b, err := json.Marshal(params)
	if err != nil {
		p.t.Fatal(err)
	}
	reply := make(chan message, 1)
	p.mu.Lock()
	p.last++
	m := message{ID: p.last, Method: method, Session: p.session, Params: b}
	if params == nil {
		m.Params = nil
	}
	p.replies[m.ID] = reply
	line, err := json.Marshal(m)
	if err == nil {
		_, err = p.in.Write(append(line, 0))
	}
	p.mu.Unlock()
	if err != nil {
		p.t.Fatalf("%s: %v", method, err)
	}
	select {
	case m = <-reply:
	case <-time.After(patience):
		p.t.Fatalf("%s: the browser doesn't answer", method)
	}
	if m.Error != nil {
		p.t.Fatalf("%s: %s", method, m.Error.Message)
	}
	if into != nil {
		if err := json.Unmarshal(m.Result, into); err != nil {
			p.t.Fatalf("%s: %v", method, err)
		}
	}
}

// Open goes to an address.
func (p *Page) Open(address string) {
	p.t.Helper()
	for range 50 {
		var gone struct{ ErrorText string }
		p.call("Page.navigate", map[string]any{"url": address}, &gone)
		switch gone.ErrorText {
		case "":
			return
		case networkChanged:
		default:
			p.t.Fatalf("cannot open %s: %s", address, gone.ErrorText)
		}
	}
	p.t.Fatalf("cannot open %s: the networks of this host don't come to rest", address)
}

// Eval evaluates an expression in the page, waits for it if it is a promise, and decodes
// its value.
func (p *Page) Eval(expression string, into any) {
	p.t.Helper()
	if fault := p.eval(expression, into); fault != "" {
		p.t.Fatalf("%s: %s", expression, fault)
	}
}

func (p *Page) eval(expression string, into any) (fault string) {
	p.t.Helper()
	var done struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails *struct {
			Text      string
			Exception struct{ Description string }
		}
	}
	p.call("Runtime.evaluate", map[string]any{"expression": expression, "awaitPromise": true, "returnByValue": true}, &done)
	if e := done.ExceptionDetails; e != nil {
		return e.Text + " " + e.Exception.Description
	}
	if into != nil {
		if err := json.Unmarshal(done.Result.Value, into); err != nil {
			return fmt.Sprintf("%v of %s", err, done.Result.Value)
		}
	}
	return ""
}

// Wait waits until an expression is true; one that throws isn't.
func (p *Page) Wait(expression string) {
	p.t.Helper()
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		var is bool
		if p.eval("Boolean("+expression+")", &is) == "" && is {
			return
		}
	}
	var text string
	p.eval("document.body.innerText", &text)
	p.t.Fatalf("never true: %s\nThe page says:\n%s\nFaults: %q", expression, text, p.Faults())
}

// Key presses a key, named as in KeyboardEvent.key.
func (p *Page) Key(key string) {
	p.t.Helper()
	down := map[string]any{"type": "keyDown", "key": key}
	if len(key) == 1 {
		down["text"] = key
	}
	if key == "Enter" {
		down["text"], down["windowsVirtualKeyCode"] = "\r", 13
	}
	p.call("Input.dispatchKeyEvent", down, nil)
	p.call("Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": key}, nil)
}

// Screenshot writes a picture of the page, as PNG.
func (p *Page) Screenshot(path string) {
	p.t.Helper()
	var shot struct{ Data string }
	p.call("Page.captureScreenshot", map[string]any{"format": "png"}, &shot)
	b, err := base64.StdEncoding.DecodeString(shot.Data)
	if err == nil {
		err = os.WriteFile(path, b, 0o600)
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// Prefers has pages believe that their reader's system is "light" or "dark".
func (p *Page) Prefers(scheme string) {
	p.t.Helper()
	p.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
}

// Accessible has axe look at the page as it is, for a test of a package two folders deep. what is
// what the page is called where it has faults.
func (p *Page) Accessible(what string) {
	p.t.Helper()
	venv := os.Getenv("UNITD_TEST_VENV")
	if venv == "" {
		venv = filepath.Join("..", "..", ".venv")
	}
	axe, err := os.ReadFile(filepath.Join(venv, "axe", "axe_playwright_python", "axe.min.js"))
	if err != nil && os.Getenv("CI") == "true" {
		p.t.Fatalf("axe isn't there: %v", err)
	}
	if err != nil {
		p.t.Logf("axe isn't there (%v): accessibility isn't checked", err)
		return
	}
	p.Eval(string(axe)+"; true", nil)
	var faults []struct{ ID, Help, Target, Summary string }
	p.Eval(`axe.run(document, {resultTypes: ['violations']}).then(r => r.violations.flatMap(v => v.nodes.map(n => ({ID: v.id, Help: v.help, Target: String(n.target), Summary: n.failureSummary}))))`, &faults)
	for _, f := range faults {
		p.t.Errorf("%s isn't accessible: %s (%s) at %s: %s", what, f.Help, f.ID, f.Target, f.Summary)
	}
}

// networkChanged is what the browser says when a network has come or gone on its host.
const networkChanged = "net::ERR_NETWORK_CHANGED"

// Faults are what the page has thrown, and what the browser has warned of.
func (p *Page) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.faults...)
}
