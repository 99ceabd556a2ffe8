package recording_test

import (
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/recording"
)

// TestRequestsAreInTheOrderInWhichTheyCame: on several connections, and though who
// reads along understands one of them later than those that came after it.
func TestRequestsAreInTheOrderInWhichTheyCame(t *testing.T) {
	t.Parallel()
	r := recording.NewRecorder(time.Now())
	first, second := r.Converse("web"), r.Converse("web")
	ask := func(c *recording.Conversation, text string) { c.Asked([]byte(strings.ReplaceAll(text, "\n", "\r\n"))) }
	answer := func(c *recording.Conversation) { c.Answered([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")) }

	ask(first, "POST /a HTTP/1.1\nHost: x\nContent-Length: 4\n\nbody")
	answer(first)
	ask(first, "GET /b HTTP/1.1\n")
	for _, path := range []string{"/c", "/d"} {
		ask(second, "GET "+path+" HTTP/1.1\nHost: x\n\n")
		answer(second)
	}
	second.End()
	ask(first, "Host: x\n\n")
	answer(first)
	first.End()

	asked, cutOff := r.Asked()
	var got []string
	for _, a := range asked {
		got = append(got, a.Path)
	}
	if want := "/a /b /c /d"; strings.Join(got, " ") != want || cutOff {
		t.Errorf("got %q (more: %v), want %s", got, cutOff, want)
	}
}
