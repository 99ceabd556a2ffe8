package script_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/script"
)

// world is what the scripts with mistakes begin with: three lines, so that the
// one that matters is the fourth.
const world = `deploy ./app
settle

`

const worldFiles = `
-- app/metadata.yaml --
name: app
requires: {client: kv}
-- app/config.yaml --
options: {k: {type: int}}
-- app/actions.yaml --
greet: {}
-- two/metadata.yaml --
name: two
containers: {db: {resource: i}, cache: {resource: i}}
resources: {i: {type: oci-image}}
`

// suite runs scripts, given by name and text, as "unitd test" does.
func suite(t *testing.T, scripts map[string]string, with func(*script.Suite)) []script.Outcome {
	t.Helper()
	dir := t.TempDir()
	s := &script.Suite{Params: script.Params{Unitd: program(t), Isolate: model.IsolateOff}, Out: io.Discard}
	for name, text := range scripts {
		path := filepath.Join(dir, name+".txtar")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Files = append(s.Files, path)
	}
	if with != nil {
		with(s)
	}
	outcomes, err := s.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return outcomes
}

// TestAKillThatNeverComesIsAMistake, which is known as soon as nothing is left to do.
func TestAKillThatNeverComesIsAMistake(t *testing.T) {
	t.Parallel()
	for _, o := range suite(t, map[string]string{"never": world + "kill-agent at ended app/0 upgrade-charm\nrestart-agent\n" + worldFiles}, nil) {
		if want := "never.txtar:5: the agent was to be killed, and has nothing left to do in which it would be"; o.Outcome != script.Failed || !strings.Contains(o.Output, want) {
			t.Errorf("%s: %s\nwant %s", o.Outcome, o.Output, want)
		}
	}
}

// TestAWaitThatIsToHurryIsNoLonger than that, where another may last for minutes.
func TestAWaitThatIsToHurryIsNoLonger(t *testing.T) {
	t.Parallel()
	text := "exec chmod +x app/hooks/install\ndeploy ./app\nsettle\n-- app/metadata.yaml --\nname: app\n-- app/hooks/install --\n#!/bin/sh\nexec sleep 3600\n"
	for _, o := range suite(t, map[string]string{"hurried": text}, func(s *script.Suite) {
		s.Hurry = func() time.Duration { return 3 * time.Second }
	}) {
		if want := "hurried.txtar:3: not settled after 3s: "; o.Outcome != script.Failed || !strings.Contains(o.Output, want) {
			t.Errorf("%s: %s\nwant %s", o.Outcome, o.Output, want)
		}
	}
}

// TestAFaultThatNeverHappensFailsTheScript, unless it was taken back, has happened at least once, or
// the script is skipped.
func TestAFaultThatNeverHappensFailsTheScript(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, lines, want string }{
		{"fail", "fail app/0 install", "fail app/0 install has never happened"},
		{"hang", "hang app/0 upgrade-charm\nsettle", "hang app/0 upgrade-charm has never happened"},
		{"hang-after-a-tool", "hang after config-get app/0 config-changed\nconfig app k=1\nsettle", "hang after config-get app/0 config-changed has never happened"},
		{"kill", "kill-agent during app/0 install\nsettle", "kill-agent app/0 install has never happened"},
		{"depose", "lose-leadership app during app/0 install\nsettle", "lose-leadership app app/0 install has never happened"},
		{"during", "during app/0 install config app k=1\nsettle", "during app/0 install config app k=1 has never happened"},
		{"other-program", "run-hook-as app/0 install ./program\nsettle", "run-hook-as app/0 install has never happened"},
		{"early-end", "fail app/0 install\nstop", "fail app/0 install has never happened"},
		{"once-of-twice", "fail app/0 config-changed 2\nconfig app k=1\n! settle", ""},
		{"released", "fail app/0 install\nrelease app/0", ""},
		{"in-another-branch", "fail app/0 config-changed\nconfig app k=1\nsnapshot armed\n! settle\nrestore armed", ""},
		{"in-no-branch", "fail app/0 install\nsnapshot armed", "fail app/0 install has never happened"},
		{"agent-gone", "fail app/0 install\nstop-agent", ""},
		{"skipped", "fail app/0 install\nskip", ""},
		{"failed", "fail app/0 install\nsettle now", `"now" is not a number of hooks`},
	}
	scripts, wants := map[string]string{}, map[string]string{}
	for _, tt := range tests {
		scripts[tt.name], wants[tt.name] = world+tt.lines+"\n"+worldFiles+"-- program --\n#!/bin/sh\n", tt.want
	}
	for _, o := range suite(t, scripts, nil) {
		want := wants[o.Name]
		if failed := o.Outcome == script.Failed; failed != (want != "") || !strings.Contains(o.Output, want) {
			t.Errorf("%s: %s\n%s\nwant %q", o.Name, o.Outcome, o.Output, want)
		}
		if o.Name == "failed" && strings.Contains(o.Output, "never happened") {
			t.Errorf("a script that has failed says more than why:\n%s", o.Output)
		}
	}
}

// TestAMistakeSaysWhereItIsAndWhatWasMeant also behind a "!", which is for what
// a model refuses and not for what was typed wrong.
func TestAMistakeSaysWhereItIsAndWhatWasMeant(t *testing.T) {
	t.Parallel()
	tests := []struct{ name, line, want string }{
		{"unknown command", "setle", `unknown command "setle" (did you mean "settle"?)`},
		{"unknown unit", "hooks app/7", `there is no unit "app/7"; there are app/0`},
		{"unknown unit behind !", "! hooks app/7", `there is no unit "app/7"; there are app/0`},
		{"not a unit", "log app", `(usage: log [--new] UNIT)`},
		{"unknown unit of a fault", "fail app/7 start", `there is no unit "app/7"; there are app/0`},
		{"unknown hook of a fault", "fail app/0 strat", `app/0 has no hook "strat"; it has install,`},
		{"unknown endpoint of a fault", "hang app/0 db-relation-joined", `client-relation-joined`},
		{"bad number of times", "fail app/0 start often", `"often" is not a number of times (usage: fail UNIT HOOK [TIMES])`},
		{"unknown hook of a claim", "! hooks app/0 ... strat", `there is no hook "strat"; there are STORAGE-storage-attached, install,`},
		{"unknown outcome of a claim", "! hooks app/0 ... start=failing", `no hook run ends as "failing"; there are [failed`},
		{"bad remote unit of a claim", "! hooks app/0 client-relation-joined(db)", `as in db-relation-joined(ledger/0)`},
		{"wrong flag", "add-unit app --number 2", `(usage: add-unit APPLICATION [-n N])`},
		{"wrong flag behind !", "! deploy ./app --bogus", `"unitd deploy --help" has the flags`},
		{"missing argument of a verb", "! integrate app", `(usage: integrate A[:ENDPOINT] B[:ENDPOINT])`},
		{"wrong flag of another verb", "! unitd wait --bogus", `"unitd wait --help" has the flags`},
		{"bad duration", "advance soon", `"soon" is not a duration like 90s, 5m or 2h (usage: advance [--skip-update-status] DURATION)`},
		{"negative duration behind !", "! advance -5m", `"-5m" is not a duration`},
		{"missing duration", "advance", `expected how long (usage: advance [--skip-update-status] DURATION)`},
		{"bad duration of a fault", "lose-store forever", `"forever" is not a duration like 30s`},
		{"argument too many", "settle now", `"now" is not a number of hooks`},
		{"missing endpoint", "relation-data app/0", `expected a unit and an endpoint (usage: relation-data UNIT ENDPOINT [REMOTE])`},
		{"unknown endpoint behind !", "! relation-data app/0 clinet", `app has no endpoint "clinet"; it has client`},
		{"waiting in a hook", "! during app/0 start settle", `settle can't be done during a hook, which the world waits for`},
		{"unknown command in a hook behind !", "! during app/0 start confg app k=1", `there is no command "confg"`},
		{"unknown tool before a command", "during after confg app/0 start config app k=1", `there is no hook tool "confg"`},
		{"unknown hook of a command", "during app/0 strat config app k=1", `app/0 has no hook "strat"; it has install,`},
		{"no command in a hook", "during app/0 start", `expected a unit, a hook and a command (usage: during [after [NUMBER] TOOL] UNIT HOOK COMMAND…)`},
		{"program from elsewhere", "run-hook-as app/0 start /bin/true", `/bin/true is not in the script's directory, $WORK`},
		{"program that is none behind !", "! run-hook-as app/0 start app/metadata.yaml", `app/metadata.yaml can't be executed: a script begins with #!`},
		{"program that isn't there", "run-hook-as app/0 start ./probe", `there is no file ./probe`},
		{"program for commands", "run-hook-as app/0 exec app/metadata.yaml", `exec runs commands`},
		{"unknown storage behind !", "! storage-gone data/0", `there is no storage "data/0"; there is none`},
		{"secret of a charm", "! stub-secret-add app label key=v", `app is not a stub: its charm writes its databags`},
		{"bad rotation of a secret", "stub-secret-add --rotate often app label key=v", `rotate policy "often" not valid`},
		{"secret without content", "stub-secret-update app label", `expected an owner, a label and KEY=VALUE (usage: stub-secret-update`},
		{"unknown application of a fault behind !", "! lose-leadership ap", `application "ap" not found`},
		{"unknown application of a fault in a hook", "lose-leadership ap during app/0 start", `application "ap" not found`},
		{"claim of what isn't JSON behind !", "! json $.x", `what the last command printed isn't JSON`},
		{"unknown status of a claim behind !", "! workload app/0 blokced", `there is no status "blokced"; there are maintenance, blocked,`},
		{"unknown status of an agent behind !", "! agent-status app/0 eror", `there is no status "eror"; there are allocating, idle,`},
		{"unknown point", "kill-agent at start app/0 start", `there is no point "start"; there are [hook started tool ended commit committed]`},
		{"unknown unit of commands behind !", "! unit-exec app/7 true", `there is no unit "app/7"; there are app/0`},
		{"unknown leader of commands behind !", "! unit-exec ap/leader true", `application "ap" not found`},
		{"unknown unit of an action behind !", "! run app/0 app/7 greet", `there is no unit "app/7"; there are app/0`},
		{"unknown action behind !", "! run app/0 great", `app has no action "great"; it has greet`},
		{"unknown action behind flags", "! run --format json --string-args app/0 --wait=1m great", `app has no action "great"; it has greet`},
		{"call of a tool that can't be", "hang after 0 state-get app/0 start", `"0" is not the number of a call: they count from 1`},
		{"calls of nothing", "during after 2 app/0 start config app k=1", `there is no hook tool "app/0"`},
		{"call of a tool without a hook", "kill-agent after 2 state-get app/0", `expected a unit and a hook behind the hook tool (usage: kill-agent`},
		{"half a fault", "kill-agent during app/0", `expected nothing, or when (usage: kill-agent`},
		{"bad role of a stub", "stub db server:kv:provide", `"server:kv:provide" is not ENDPOINT:INTERFACE or ENDPOINT:INTERFACE:ROLE`},
		{"stub that is none", "! stub-set app/0 k=v", `app is not a stub: its charm writes its databags`},
		{"setting without a value", "! stub-set app/0", `expected who, and KEY=VALUE`},
		{"container of a unit without", "! container-kill app/0 db", `app/0 has no containers: its charm declares none`},
		{"unknown unit of a container", "notice app/7 db example.com/a", `there is no unit "app/7"; there are app/0`},
		{"unknown container behind !", "! container-stop two/0 bd", `two/0 has no container "bd"; it has cache, db`},
		{"container of a unit that shares the host", "container-files two/0 db /", `the containers of two/0 don't run: the unit isn't isolated`},
		{"half a notice", "notice two/0 db", `expected a unit, a container and a key (usage: notice`},
		{"bad time of a notice", "notice --repeat-after soon two/0 db example.com/a", `"soon" is not a duration`},
		{"bad end of a check behind !", "! pebble-check two/0 db well sideways", `expected a unit, a container, a check, and up or down`},
		{"on or off", "disk-full maybe", `expected on or off (usage: disk-full [on | off])`},
		{"unknown unit of the network behind !", "! network app/7 down", `there is no unit "app/7"; there are app/0`},
		{"no unit of the network", "network app down", `"app" is not a unit (usage: network UNIT down|up | UNIT delay DURATION`},
		{"unknown fault of the network behind !", "! network app/0 slow", `"slow" is not down, up, delay or loss (usage: network`},
		{"bad delay of the network", "network app/0 delay soon", `"soon" is not a delay like 200ms or 2s`},
		{"bad loss of the network", "network app/0 loss 10", `"10" is not a percentage from 0% to 100%`},
		{"half a partition behind !", "! network partition app/0", `expected two groups of units (usage: network`},
		{"partition from itself", "network partition app/0 app/1,app/0", `app/0 can't be separated from itself`},
		{"network of a unit that shares the host", "network app/0 down", `app/0 has no network of its own: it isn't isolated, and shares the host's`},
		{"bad flag of an exploration", "explore -replay=maybe steps", `(usage: explore [-seed N] [-runs N] [-replay=false] FILE)`},
		{"bad number of hooks", "run-hooks all", `"all" is not a number of hooks`},
		{"what was to fail", "! config app k=1", `config succeeded, and was to fail`},
		{"what fails", "config app k=x", `k`},
	}
	scripts, byName := map[string]string{}, map[string]int{}
	for i, tt := range tests {
		name := strings.ReplaceAll(strings.ReplaceAll(tt.name, " ", "-"), "!", "not")
		begin := world
		if strings.Contains(tt.line, "two/") { // it has two containers
			begin = strings.Replace(world, "./app", "./two --resource i=host", 1)
		}
		scripts[name], byName[name] = begin+tt.line+"\n"+worldFiles, i
	}
	if len(scripts) != len(tests) {
		t.Fatal("two tests have the same name")
	}
	for _, o := range suite(t, scripts, nil) {
		tt := tests[byName[o.Name]]
		if o.Outcome != script.Failed {
			t.Errorf("%s: %q: %s", tt.name, tt.line, o.Outcome)
			continue
		}
		_, said, _ := strings.Cut(o.Output, "FAIL: ")
		if !strings.Contains(said, o.Name+".txtar:4: ") || !strings.Contains(said, tt.want) {
			t.Errorf("%s: %q says\n%s\nwant line 4 and\n%s", tt.name, tt.line, said, tt.want)
		}
	}
}
