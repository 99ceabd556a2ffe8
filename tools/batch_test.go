package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/tools/wire"
)

func batchOf(lines string, flags ...string) wire.Request {
	return wire.Request{Dir: "/", Args: append([]string{"unitd-batch"}, flags...), StdinSet: true, Stdin: []byte(lines)}
}

func TestABatch(t *testing.T) {
	t.Parallel()
	view := newMemory()
	view.config["bytes"] = "a\xffb"
	for _, c := range []struct {
		name, lines, flags string
		code               int
		stdout, stderr     string
	}{
		{"of no calls", "\n \n", "", 0, "", ""},
		{"sees its own writes", `["state-set","a=b"]` + "\n" + `["state-get","a"]`, "", 0,
			`{"code":0,"stdout":"","stderr":""}` + "\n" + `{"code":0,"stdout":"b\n","stderr":""}` + "\n", ""},
		{"gives a call standard input", `{"args":["state-set","--file","-"],"stdin":"x: \"1\""}` + "\n" + `["state-get","x","--format=json"]`, "", 0,
			`{"code":0,"stdout":"","stderr":""}` + "\n" + `{"code":0,"stdout":"\"1\"\n","stderr":""}` + "\n", ""},
		{"has no standard input for a call that doesn't say so", `["state-set","--file","-"]`, "", 1,
			`{"code":2,"stdout":"","stderr":"ERROR hook tool requires stdin, none supplied\n"}` + "\n", ""},
		{"ends after a call that fails", `["config-get","a","b"]` + "\n" + `["config-get","title"]`, "", 1,
			`{"code":2,"stdout":"","stderr":"ERROR unrecognized args: [\"b\"]\n"}` + "\n", ""},
		{"goes on if it is told to", `["nosuch"]` + "\n" + `["config-get","html"]`, "--keep-going", 1,
			`{"code":1,"stdout":"","stderr":"ERROR bad request: unknown command: nosuch\n"}` + "\n" + `{"code":0,"stdout":"<a&b>\n","stderr":""}` + "\n", ""},
		{"has bytes as base64", `["config-get","bytes"]`, "", 0, `{"code":0,"stdout-base64":"Yf9iCg==","stderr":""}` + "\n", ""},
		{"is no part of a batch", `["unitd-batch"]`, "", 1,
			`{"code":2,"stdout":"","stderr":"ERROR hook tool requires stdin, none supplied\n"}` + "\n", ""},
		{"is no part of a batch with standard input either", `{"args":["unitd-batch"],"stdin":""}`, "", 1,
			`{"code":1,"stdout":"","stderr":"ERROR a batch can't be part of a batch\n"}` + "\n", ""},
		{"ends after unitd-fail", `["unitd-fail","no"]` + "\n" + `["config-get","title"]`, "--keep-going", 0,
			`{"code":0,"stdout":"","stderr":""}` + "\n", ""},
		{"with a line that is none makes no call", `["state-set","bad=x"]` + "\nconfig-get title\n", "", 2, "",
			"ERROR line 2 of standard input is no call: expected [\"TOOL\", \"ARGUMENT\", …]\n"},
		{"of too many calls", strings.Repeat("[\"is-leader\"]\n", maxBatch+1), "", 2, "", "ERROR more than 10000 calls\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			hook := hookOf(view, relationHook())
			reply := Run(hook, batchOf(c.lines, strings.Fields(c.flags)...))
			mustBe(t, "exit code", reply.Code, c.code)
			mustBe(t, "stdout", string(reply.Stdout), c.stdout)
			mustBe(t, "stderr", string(reply.Stderr), c.stderr)
			if _, written := hook.Changes().State["bad"]; written {
				t.Error("a call was made")
			}
		})
	}
}

// TestABatchIsToldOf call by call, and as a whole.
func TestABatchIsToldOf(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	var told []string
	s.OnCall(func(c Call) { told = append(told, fmt.Sprintf("%s %q %d %t", c.Tool, c.Args, c.Code, c.Within)) })
	req := batchOf(`["relation-set","password=s3cret"]` + "\n" + `["config-get","a","b"]`)
	req.Context = s.Begin(hookOf(newMemory(), relationHook()))
	ask(t, s, req)
	s.End()
	mustBe(t, "calls", strings.Join(told, "\n"),
		"relation-set [\"password=…\"] 0 true\nconfig-get [\"a\" \"b\"] 2 true\nunitd-batch [] 1 false")
}
