package tools

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/model"
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
			`{"code":1,"stdout":"","stderr":"ERROR a batch can't be part of a batch\n"}` + "\n", ""},
		{"with an unknown key makes no call", `["state-set","bad=x"]` + "\n" + `{"args":["state-get"],"input":"hunter2"}`, "", 2, "",
			"ERROR line 2 of standard input is no call: unknown key \"input\", and there are args and stdin\n"},
		{"with two calls in a line makes none", `["state-set","bad=x"] ["state-get"]`, "", 2, "",
			"ERROR line 1 of standard input is no call: expected [\"TOOL\", \"ARGUMENT\", …]\n"},
		{"with half a surrogate pair makes no call", `["state-set","bad=\ud83d"]`, "", 2, "",
			"ERROR line 1 of standard input is no call: it has bytes or half a surrogate pair that are no UTF-8\n"},
		{"with other bytes makes no call", "[\"state-set\",\"bad=\xff\"]", "", 2, "",
			"ERROR line 1 of standard input is no call: it has bytes or half a surrogate pair that are no UTF-8\n"},
		{"has emojis and what stands for what can't be shown", `["state-set","a=\ud83d\ude00\ufffd"]` + "\n" + `["state-get","a"]`, "", 0,
			`{"code":0,"stdout":"","stderr":""}` + "\n" + `{"code":0,"stdout":"😀�\n","stderr":""}` + "\n", ""},
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

// TestSecretsInABatchAreHidden though no call has written them.
func TestSecretsInABatchAreHidden(t *testing.T) {
	t.Parallel()
	s := serve(t, patience)
	var told []Call
	s.OnCall(func(c Call) { told = append(told, c) })
	view := &hiding{memory: newMemory()}
	hook := hookOf(view, plainHook())
	id := s.Begin(hook)
	for _, lines := range []string{
		`["config-get","a","b"]` + "\n" + `["secret-add","token=hunter2"]`,
		`["secret-add","token=hunter2"]` + "\n" + `{"args": ["secret-add"`,
	} {
		req := batchOf(lines)
		req.Context = id
		ask(t, s, req)
	}
	s.End()
	mustBe(t, "hidden", fmt.Sprint(view.hidden), "[aHVudGVyMg==]")
	last := told[len(told)-1]
	mustBe(t, "what is told of a batch that can't be read", fmt.Sprint(last.Code, last.Request.StdinSet, len(last.Request.Stdin)), "2 true 0")
}

// hiding is a View that notes what is to be hidden.
type hiding struct {
	*memory
	hidden []string
}

func (v *hiding) Hide(content model.SecretContent) {
	for _, value := range content {
		v.hidden = append(v.hidden, value)
	}
}
