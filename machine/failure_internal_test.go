package machine

import (
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks/runner"
)

// TestReasonOfAFailure: an exception of Python comes first, by its own line, then
// standard error, then what was logged as an error; a line that says nothing is none.
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
		{"the own line of a printed exception", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File", "    f()", "    ^^^", "ValidationError: 2 errors for Port", "port", "  Input should be a number", "", "host")
		}, "exit status 1: ValidationError: 2 errors for Port"},
		{"the own line of one that was logged", func(o *outputTail) {
			o.log("ERROR", "Uncaught exception:\nTraceback (most recent call last):\n  File\n    f()\nValueError: no such port\none of:\n- 80\n")
		}, "exit status 1: ValueError: no such port"},
		{"the last one of a chain", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File", "KeyError: 'port'", "", "During handling of the above exception, another exception occurred:", "",
				"Traceback (most recent call last):", "  File", "NoPort: it has none", "at all")
		}, "exit status 1: NoPort: it has none"},
		{"one that the message quotes further in isn't it", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File", "ChangeError: cannot start:", "- Start service \"web\" (exited)", "----- Logs from task 0 -----",
				"    Traceback (most recent call last):", "      File", "    OSError: no", "-----")
		}, "exit status 1: ChangeError: cannot start: - Start service \"web\" (exited)"},
		{"a group's own line", func(o *outputTail) {
			printed(o, "  + Exception Group Traceback (most recent call last):", "  |   File", "  | ExceptionGroup: two (2 sub-exceptions)", "  +-+---------------- 1 ----------------",
				"    | Traceback (most recent call last):", "    |   File", "    | ValueError: first", "    +---------------- 2 ----------------", "    | KeyError: 'x'", "    +------------------------------------")
		}, "exit status 1: ExceptionGroup: two (2 sub-exceptions)"},
		{"a group for which another one was raised", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File", "KeyError: 'port'", "", "The above exception was the direct cause of the following exception:", "",
				"  + Exception Group Traceback (most recent call last):", "  |   File", "  | ExceptionGroup: one (1 sub-exception)", "  +-+---------------- 1 ----------------")
		}, "exit status 1: ExceptionGroup: one (1 sub-exception)"},
		{"an exception comes before a warning that was printed", func(o *outputTail) {
			printed(o, "DeprecationWarning: old")
			o.log("ERROR", "Traceback (most recent call last):\n  File\nValueError: no")
		}, "exit status 1: ValueError: no"},
		{"an exception that was caught long before is none", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File", "KeyError: 'x'")
			for range messageLines + 1 {
				printed(o, "unpacking")
			}
		}, "exit status 1: unpacking"},
		{"a later error that was logged comes before the exception of an earlier one", func(o *outputTail) {
			o.log("ERROR", "Traceback (most recent call last):\n  File\nKeyError: 'x'")
			o.log("ERROR", "no such port")
		}, "exit status 1: no such port"},
		{"a traceback that is cut off says what it says last", func(o *outputTail) {
			printed(o, "Traceback (most recent call last):", "  File \"x\"")
		}, "exit status 1:   File \"x\""},
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
