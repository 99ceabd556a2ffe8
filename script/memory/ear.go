package memory

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks/runner"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/replay"
	"github.com/unitd/unitd/tools"
	"github.com/unitd/unitd/tools/wire"
)

// madeCall is a call that was made in a program's place, and what was really answered.
type madeCall struct {
	request replay.Request
	reply   wire.Reply
}

// never are tools after which a hook isn't remembered: they end it, or tell it of files that
// are elsewhere.
var never = []string{"juju-reboot", "unitd-fail", "resource-get", "storage-get"}

// ear hears what a program says.
type ear struct {
	names replay.Names
	dir   string

	mu     sync.Mutex
	run    replay.Run
	made   []madeCall // that it is still to make
	until  time.Time  // when its last call had been answered
	err    error      // why it can't be remembered
	astray bool       // it has made another call than was made for it
}

// known has the reply to a call that was made already.
func (e *ear) known(req wire.Request) (wire.Reply, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.made) == 0 {
		return wire.Reply{}, false
	}
	next := e.made[0]
	asked, err := ask(e.names, req)
	if err == nil && !req.StdinSet && next.request.StdinSet {
		if plain := next.request; same(asked, withoutStdin(plain)) {
			return wire.Reply{Code: wire.NeedStdin}, true
		}
	}
	if err != nil || !same(asked, next.request) {
		e.astray, e.made = true, nil
		return wire.Reply{}, false
	}
	e.made = e.made[1:]
	e.add(asked, next.reply)
	return next.reply, true
}

func withoutStdin(r replay.Request) replay.Request {
	r.StdinSet, r.Stdin = false, ""
	return r
}

func same(a, b replay.Request) bool {
	return slices.Equal(a.Args, b.Args) && slices.Equal(a.Files, b.Files) && a.Dir == b.Dir && a.StdinSet == b.StdinSet && a.Stdin == b.Stdin
}

// heard is told of a call that was made.
func (e *ear) heard(c tools.Call) {
	if c.Within { // of a batch the whole is told as well
		return
	}
	asked, err := ask(e.names, c.Request)
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case err != nil:
		e.fail(err)
	case slices.Contains(never, c.Tool):
		e.fail(errors.Errorf("it calls %s", c.Tool))
	case c.Began.Before(e.until):
		e.fail(errors.New("it makes calls side by side"))
	}
	e.until = c.Began.Add(c.Duration)
	e.add(asked, c.Reply)
}

func (e *ear) add(asked replay.Request, reply wire.Reply) {
	said, ok := hideReply(e.names, reply)
	if !ok {
		e.fail(errors.New("a hook tool has answered it what is no text"))
	}
	e.run.Calls = append(e.run.Calls, replay.Call{Request: asked, Reply: said})
}

func (e *ear) fail(err error) {
	if e.err == nil {
		e.err = err
	}
}

// printed takes a line.
func (e *ear) printed(s runner.Stream, line string) {
	text, ok := e.names.Hide(line)
	e.mu.Lock()
	defer e.mu.Unlock()
	if !ok {
		e.fail(errors.New("it prints what is no text"))
	}
	e.run.End.Printed = append(e.run.End.Printed, replay.Line{Err: s == runner.Stderr, Text: text})
}

// other says, once the program has ended, whether it has made other calls than were made
// for it, or fewer.
func (e *ear) other() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.astray || len(e.made) > 0
}

// all is what the program did, without its exit and its files.
func (e *ear) all() (replay.Run, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.run, e.err
}

// ask is a request as it is remembered.
func ask(names replay.Names, req wire.Request) (replay.Request, error) {
	errNoText := errors.New("it calls a hook tool with what is no text")
	r := replay.Request{StdinSet: req.StdinSet}
	var ok bool
	if r.Dir, ok = names.Hide(req.Dir); !ok {
		return r, errNoText
	}
	if r.Stdin, ok = names.Hide(string(req.Stdin)); !ok {
		return r, errNoText
	}
	for i, arg := range req.Args {
		path, prefix := fileOf(req.Args, i)
		if path != "" {
			if !filepath.IsAbs(path) {
				path = filepath.Join(req.Dir, path)
			}
			b, err := os.ReadFile(path)
			if err != nil {
				return r, errors.New("it names a file that isn't there to a hook tool")
			}
			content, ok := names.Hide(string(b))
			if !ok {
				return r, errors.New("it names a file to a hook tool that is no text")
			}
			r.Files = append(r.Files, content)
			r.Args = append(r.Args, prefix+replay.FileArg)
			continue
		}
		hidden, ok := names.Hide(arg)
		if !ok {
			return r, errNoText
		}
		r.Args = append(r.Args, hidden)
	}
	return r, nil
}

// fileOf is the path of a file that an argument names, with what stands before it; empty: it
// names none.
func fileOf(args []string, i int) (path, prefix string) {
	arg := args[i]
	if i == 0 {
		return "", ""
	}
	if key, path, ok := strings.Cut(arg, "="); ok && (key == "--file" || key == "-file" || strings.HasSuffix(key, "#file")) {
		if path == "-" {
			return "", ""
		}
		return path, key + "="
	}
	if args[i-1] == "--file" && arg != "-" {
		return arg, ""
	}
	return "", ""
}

// show is a request to be made in this world; remove removes the files that it names.
func (s start) show(p machine.Program, r replay.Request) (req wire.Request, remove func(), err error) {
	req = wire.Request{Context: p.Context, Dir: s.names.Show(r.Dir), StdinSet: r.StdinSet}
	if r.StdinSet {
		req.Stdin = []byte(s.names.Show(r.Stdin))
	}
	dir := ""
	remove = func() { os.RemoveAll(dir) }
	if len(r.Files) > 0 {
		if dir, err = os.MkdirTemp("", "unitd-replay-"); err != nil {
			return req, remove, errors.Trace(err)
		}
	}
	files := r.Files
	for i, arg := range r.Args {
		if prefix, ok := strings.CutSuffix(arg, replay.FileArg); ok && len(files) > 0 {
			path := filepath.Join(dir, strconv.Itoa(i))
			if err := os.WriteFile(path, []byte(s.names.Show(files[0])), 0o600); err != nil {
				remove()
				return req, func() {}, errors.Trace(err)
			}
			files, arg = files[1:], prefix+path
		}
		req.Args = append(req.Args, s.names.Show(arg))
	}
	return req, remove, nil
}

// hideReply is a reply as it is remembered; false: it can't be.
func hideReply(names replay.Names, r wire.Reply) (replay.Reply, bool) {
	out, ok := names.Hide(string(r.Stdout))
	bad, fine := names.Hide(string(r.Stderr))
	return replay.Reply{Code: r.Code, Stdout: out, Stderr: bad}, ok && fine
}
