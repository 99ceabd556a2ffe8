package machine

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks/runner"
)

// TestReasonOfAFailure: standard error comes before what was logged as an error,
// and a line that says nothing is none.
func TestReasonOfAFailure(t *testing.T) {
	t.Parallel()
	printed := func(o *outputTail, lines ...string) {
		for _, line := range lines {
			o.add(runner.Stderr, line)
		}
	}
	for _, c := range []struct {
		name string
		say  func(*outputTail)
		want string
	}{
		{"nothing was said", func(*outputTail) {}, "exit status 1"},
		{"standard output is no reason", func(o *outputTail) { o.add(runner.Stdout, "aloud") }, "exit status 1"},
		{"the last line of standard error", func(o *outputTail) { printed(o, "one", "two", "", " ") }, "exit status 1: two"},
		{"a line of dashes is no reason", func(o *outputTail) { printed(o, "no such file", "-----") }, "exit status 1: no such file"},
		{"nor is one that was logged", func(o *outputTail) { o.log("ERROR", "no such file\n-----") }, "exit status 1: no such file"},
		{"standard error comes first", func(o *outputTail) { printed(o, "printed"); o.log("ERROR", "logged") }, "exit status 1: printed"},
		{"the last line of the last error", func(o *outputTail) {
			o.log("ERROR", "first")
			o.log("ERROR", "Traceback:\n  File\nValueError: no\n\n")
			o.log("WARNING", "later")
		}, "exit status 1: ValueError: no"},
		{"what is worse than an error", func(o *outputTail) { o.log("CRITICAL", "worse") }, "exit status 1: worse"},
		{"the relation in front isn't the charm's", func(o *outputTail) { o.relation = "db:3"; o.log("ERROR", "db:3: no such table") }, "exit status 1: no such table"},
		{"a long one is cut", func(o *outputTail) { printed(o, strings.Repeat("x", 500)) }, "exit status 1: " + strings.Repeat("x", reasonBytes) + "…"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			tail := &outputTail{}
			c.say(tail)
			if got := tail.with("exit status 1"); got != c.want {
				t.Errorf("it is %q, want %q", got, c.want)
			}
		})
	}
}
