package recording

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ask adds a request that began at that time. It may be called many times at once.
func (r *Recorder) ask(a Asked, began time.Time) {
	a.At = began.Sub(r.began)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.askedLeft -= a.size()
	if r.askedLeft >= 0 {
		r.asked = append(r.asked, a)
	}
}

// stream is where what goes through a websocket of a command is taken down.
func (r *Recorder) stream(container, path string) *streamEnds {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := container + path
	if r.streams[key] == nil {
		r.streams[key] = &streamEnds{}
	}
	return r.streams[key]
}

// Asked are the requests in the order in which they began, and whether there were
// more. It is for after the conversations have ended.
func (r *Recorder) Asked() (all []Asked, cutOff bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = slices.Clone(r.asked)
	slices.SortStableFunc(all, func(a, b Asked) int { return int(a.At - b.At) })
	left := r.askedLeft
	for i := range all {
		task := all[i].task()
		if task == "" {
			continue
		}
		before := all[i].size()
		all[i].Exec = r.exec(all[i].Container, task)
		all[i].Exec.Exit = exitOf(all[i:])
		if left -= all[i].size() - before; left < 0 {
			return all[:i], true
		}
	}
	return all, left < 0
}

// exec is what went through the websockets of a command.
func (r *Recorder) exec(container, task string) *Exec {
	e := &Exec{}
	take := func(kind string, toPebble, toHook *Content) {
		s := r.streams[container+"/v1/tasks/"+task+"/websocket/"+kind]
		if s == nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if toPebble != nil {
			*toPebble = s.toPebble.content()
		}
		if toHook != nil {
			*toHook = s.toHook.content()
		}
	}
	take("stdio", &e.Stdin, &e.Stdout)
	take("stderr", nil, &e.Stderr)
	take("control", &e.Control, nil)
	return e
}

// envelope is what is read of an answer of Pebble's.
type envelope struct {
	Change string
	Result struct {
		TaskID string `json:"task-id"`
		ID     string
		Tasks  []struct {
			Data struct {
				ExitCode *json.Number `json:"exit-code"`
			}
		}
	}
}

// said is the answer, as far as it is JSON.
func (a *Asked) said() (e envelope) {
	_ = json.Unmarshal(a.Answer.Bytes, &e) // what it isn't it doesn't have
	return e
}

// task is that of a command which the request has begun; empty: it has begun none.
func (a *Asked) task() string {
	path, _, _ := strings.Cut(a.Path, "?")
	if a.Method != http.MethodPost || path != "/v1/exec" {
		return ""
	}
	return a.said().Result.TaskID
}

// exitOf is the exit code of the command that the first of the requests has begun,
// as the others tell it.
func exitOf(all []Asked) string {
	change := all[0].said().Change
	for _, a := range all[1:] {
		if a.Container != all[0].Container || !strings.HasPrefix(a.Path, "/v1/changes/") {
			continue
		}
		said := a.said()
		if said.Result.ID != change || len(said.Result.Tasks) == 0 {
			continue
		}
		if code := said.Result.Tasks[0].Data.ExitCode; code != nil {
			return code.String()
		}
	}
	return ""
}
