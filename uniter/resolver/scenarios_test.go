package resolver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
	"github.com/unitd/unitd/uniter/sim"
)

// story is a scenario of docs/spec/uniter-scenarios.md, played by sim.World. Its
// lines are:
//
//	> install config-changed   the agent works until it has nothing to do, and
//	                           runs exactly these hooks; ">" alone: none
//	fail NAME                  the next run of the hook fails
//	kill in NAME               the agent is killed while the hook runs
//	kill after NAME            … after the model has the run's stamp
//	kill after OPERATION       … before its journal has it
//	stop in NAME               the agent is stopped in good order
//	overdue NAME               the next run of the hook takes longer than it may
//	kill                       the agent is killed, and starts again
//	is VERB WORDS              the operation that is due, and words of its reason
//	not leader                 is-leader is false
//
// and all that sim.Acts has.
type story struct{ name, lines string }

const (
	booted  = "> install leader-elected config-changed start\n"
	related = "relate db:1 mysql\n" + booted0 + "join db:1 mysql/0\n> db-relation-joined(mysql/0) db-relation-changed(mysql/0)\n"
	booted0 = "> install db-relation-created leader-elected config-changed start\n"
)

func stories() []story {
	all := append(bootStories(), errorStories()...)
	all = append(all, relationStories()...)
	return append(all, append(endStories(), append(storageStories(), containerStories()...)...)...)
}

func bootStories() []story {
	return []story{
		{"U-BOOT-1 a unit boots", booted},
		{"U-BOOT-2 the unit does not exist: the agent ends", "gone\n>\nis terminate not in the model"},
		{"U-BOOT-3 the unit is Dead before the agent starts: it runs nothing", "force-dead\n>\nis terminate Dead"},
		{"U-BOOT-6 a lost charm directory is deployed again, and the relations are as they were",
			related + "lose-charm\n> upgrade-charm config-changed"},
		{"U-BOOT-6 a lost charm directory is deployed again in error",
			related + "fail config-changed\nconfig 2\n> config-changed!\nlose-charm\n>\nis idle failed\nresolved-no-retry\n> upgrade-charm config-changed"},
		{"U-BOOT-6 a charm directory that is lost before start keeps start in its place",
			"stop in start\n> install leader-elected config-changed start? start\n>\nlose-charm\n> upgrade-charm config-changed"},
		{"a lost disk is made up for from the model, and members join again",
			related + "lose-disk\n> upgrade-charm config-changed db-relation-joined(mysql/0) db-relation-changed(mysql/0)\n>"},
		{"a lost journal beside a charm that is there", related + "lose-journal\n> upgrade-charm config-changed db-relation-joined(mysql/0) db-relation-changed(mysql/0)\n>"},
		{"a disk that is lost after install", "fail leader-elected\n> install leader-elected!\nlose-disk\n> upgrade-charm leader-elected config-changed start"},
		{"a disk that is lost before install has run", "fail install\n> install!\nlose-disk\n" + booted},
		{"a disk that is lost with a relation that is going", related + "unrelate db:1\nlose-disk\n> upgrade-charm config-changed db-relation-departed(mysql/0) db-relation-broken\n>"},
		{"a disk that is lost by a unit that is going", related + "destroy\nlose-disk\n> upgrade-charm config-changed db-relation-departed(mysql/0,app/0) db-relation-broken stop remove"},
		{"a disk that is lost between stop and remove", booted + "destroy\nfail remove\n> stop remove!\nlose-disk\n> remove"},
		{"a journal that has lost a record runs nothing twice", related + "lose-record\n>\nlose-record\n>"},
		{"U-BOOT-7 a settled agent that is started again runs nothing", related + strings.Repeat("kill\n>\n", 100)},
		{"§1 a leader's first start with a relation", "relate db:1 mysql\njoin db:1 mysql/0\n" +
			"> install db-relation-created leader-elected config-changed start db-relation-joined(mysql/0) db-relation-changed(mysql/0)"},
		{"U-INT-1 killed in install", "kill in install\n> install!\nis idle install\nresolved\n" + booted},
		{"U-INT-2 killed between the model's commit and the journal's", booted + "kill after config-changed\nconfig 2\n> config-changed"},
		{"U-INT-2 every hook of a boot is cut off so", "kill after install\nkill after leader-elected\nkill after config-changed\nkill after start\n" + booted},
		{"U-INT-5 killed in joined", "relate db:1 mysql\n" + booted0 + "join db:1 mysql/0\nkill in db-relation-joined\n> db-relation-joined(mysql/0)!\n" +
			"resolved-no-retry\n> db-relation-changed(mysql/0)\nleave db:1 mysql/0\n> db-relation-departed(mysql/0)"},
		{"U-INT-6 killed between an upgrade and its record", booted + "charm ch:app-2\nkill after deploy\n> upgrade-charm config-changed"},
		{"U-INT-6 killed in upgrade-charm", booted + "charm ch:app-2\nkill in upgrade-charm\n> upgrade-charm!\nresolved\n> upgrade-charm config-changed"},
		{"U-CFG-1 three changes during one hook make one config-changed", booted + "config 2\nconfig 3\nconfig 4\n> config-changed"},
		{"U-CFG-2 a change that is set back is no change", booted + "config 2\nconfig 1\n>"},
		{"U-CFG-3 a change while the agent is stopped", booted + "kill\nconfig 2\n> config-changed"},
		{"U-UPD-1 update-status runs at its interval", "status-interval 5m\n" + booted + "wait 4m59s\n>\nwait 1s\n> update-status\n>\nwait 5m\n> update-status"},
		{"U-UPD-1 update-status gives way to other hooks", "status-interval 5m\n" + booted + "wait 5m\nconfig 2\n> config-changed update-status"},
		{"U-UPD-1 update-status never runs before start", "status-interval 5m\nfail start\n> install leader-elected config-changed start!\nwait 1h\n>"},
		{"U-LEAD-1 a second unit boots", "depose\n> install leader-settings-changed config-changed start\nlead\n> leader-elected"},
		{"U-LEAD-2 leader settings change", "depose\n> install leader-settings-changed config-changed start\nleader-settings\n> leader-settings-changed"},
		{"U-LEAD-2 the leader isn't told of its own", booted + "leader-settings\n>"},
		{"U-LEAD-3 deposed while stopped", booted + "kill\ndepose\n>\nnot leader"},
		{"U-LEAD-4 leadership lost before leader-elected could be run again",
			"fail leader-elected\n> install leader-elected!\ndepose\nresolved\n> leader-settings-changed config-changed start"},
	}
}

func errorStories() []story {
	var all []story
	// U-ERR-3: the same two for each hook.
	for _, h := range []struct{ hook, before, rest string }{
		{"install", "", " leader-elected config-changed start"},
		{"leader-elected", "> install", " config-changed start"},
		{"config-changed", "> install leader-elected", " start"},
		{"start", "> install leader-elected config-changed", ""},
		{"upgrade-charm", booted + "charm ch:app-2\n>", " config-changed"},
		{"update-status", booted + "status-interval 5m\nwait 6m\n>", ""},
		{"stop", booted + "destroy\n>", " remove"},
		{"remove", booted + "destroy\n> stop", ""},
	} {
		before := fmt.Sprintf("%s %s!\nis idle %s\n", h.before, h.hook, h.hook)
		if h.before == "" {
			before = fmt.Sprintf("> %s!\nis idle %s\n", h.hook, h.hook)
		}
		fail := "fail " + h.hook + "\n"
		all = append(all,
			story{"U-ERR-1 " + h.hook + " fails and is skipped", fail + before + "resolved-no-retry\n>" + h.rest},
			story{"U-ERR-2 " + h.hook + " fails and runs again", fail + before + "resolved\n> " + h.hook + h.rest})
	}
	return append(all, []story{
		{"U-ERR-4 each answer is used once", "fail install\nfail leader-elected\nfail config-changed\nfail start\n" +
			"> install!\nresolved-no-retry\n> leader-elected!\n>\nresolved-no-retry\n> config-changed!\nresolved-no-retry\n> start!\n>\nresolved-no-retry\n>"},
		{"U-ERR-4 an answer is not used for the same hook's next failure", "fail install\nfail install\n> install!\nresolved\n> install!\n>\nkill\n>"},
		{"U-ERR-4 an answer is not lost if the agent is killed before it sees it", "fail install\n> install!\nresolved\nkill\n" + booted},
		{"U-ERR-5 configuration changes in error at config-changed", booted + "config 2\nfail config-changed\n> config-changed!\nconfig 3\n>\nresolved\n> config-changed\n>"},
		{"U-ERR-5 … and a skipped run counts for what it was told", booted + "config 2\nfail config-changed\n> config-changed!\nconfig 3\nresolved-no-retry\n> config-changed\n>"},
		{"U-ERR-6 update-status time comes while in error", "status-interval 5m\n" + booted + "config 2\nfail config-changed\n> config-changed!\nwait 1h\n>"},
		{"U-ERR-7 a failed hook is run again after 5 s, 10 s, 20 s", "retry\nfail install\nfail install\nfail install\n> install!\nwait 4s\n>\nwait 1s\n> install!\n" +
			"wait 9s\n>\nwait 1s\n> install!\nwait 19s\n>\nwait 1s\n" + booted},
		{"U-ERR-7 the schedule survives a restart", "retry\nfail install\nfail install\n> install!\nwait 3s\nkill\n>\nwait 2s\n> install!\nkill\nwait 9s\n>\nwait 1s\n" + booted},
		{"U-ERR-7 success resets the schedule", "retry\nfail install\nfail leader-elected\n> install!\nwait 5s\n> install leader-elected!\nwait 5s\n> leader-elected config-changed start"},
		{"U-ERR-7 off by the model's setting", "fail install\n> install!\nwait 24h\n>"},
		{"U-ERR-9 an orderly stop in mid-hook is no error", "stop in config-changed\n> install leader-elected config-changed? config-changed start"},
		{"U-UPG-1 a new revision", booted + "charm ch:app-2\n> upgrade-charm config-changed"},
		{"U-UPG-2 a new revision by force", booted + "force-charm ch:app-2\n> upgrade-charm config-changed"},
		{"U-UPG-3 upgrade-charm fails and is skipped", booted + "charm ch:app-2\nfail upgrade-charm\n> upgrade-charm!\nresolved-no-retry\n> config-changed"},
		{"U-UPG-3 upgrade-charm fails and runs again", booted + "charm ch:app-2\nfail upgrade-charm\n> upgrade-charm!\nresolved\n> upgrade-charm config-changed"},
		{"U-UPG-4 an unforced upgrade waits for the error's end", "fail start\n> install leader-elected config-changed start!\ncharm ch:app-2\n>\nresolved-no-retry\n> upgrade-charm config-changed"},
		{"U-UPG-5 a forced upgrade in error", "fail start\n> install leader-elected config-changed start!\nforce-charm ch:app-2\n>\nis idle start\nresolved-no-retry\n> config-changed"},
		{"U-UPG-5 … killed before its record", "fail start\n> install leader-elected config-changed start!\nforce-charm ch:app-2\nkill after deploy\n>\nresolved-no-retry\n> config-changed"},
		{"U-UPG-9 rolled back from error at upgrade-charm", booted + "charm ch:app-2\nfail upgrade-charm\n> upgrade-charm!\nforce-charm ch:app-1\n>\nresolved-no-retry\n> config-changed"},
		{"an upgrade between config-changed and start does not come between them", "stop in start\ncharm ch:app-2\n> install leader-elected config-changed start? start"},
	}...)
}

func relationStories() []story {
	const changing = related + "write db:1 mysql/0\nfail db-relation-changed\n> db-relation-changed(mysql/0)!\n"
	return []story{
		{"U-REL-1 two units join, one after the other", related + "join db:1 mysql/1\n> db-relation-joined(mysql/1) db-relation-changed(mysql/1)"},
		{"U-REL-2 three changes of settings make one changed", related + strings.Repeat("write db:1 mysql/0\n", 3) + "> db-relation-changed(mysql/0)"},
		{"U-REL-3 a unit leaves", related + "leave db:1 mysql/0\n> db-relation-departed(mysql/0)"},
		{"U-REL-4 the relation is removed", related + "join db:1 mysql/1\n> db-relation-joined(mysql/1) db-relation-changed(mysql/1)\nunrelate db:1\n" +
			"> db-relation-departed(mysql/0) db-relation-departed(mysql/1) db-relation-broken\nleave db:1 mysql/0\nleave db:1 mysql/1\n>\nkill\n>"},
		{"U-REL-5 the unit is removed while related", related + "destroy\n> db-relation-departed(mysql/0,app/0) db-relation-broken stop remove\nis terminate Dead"},
		{"U-REL-6 the unit is made Dead by force while related", related + "force-dead\n>\nis terminate Dead"},
		{"U-REL-7 a member leaves and another joins while the agent is stopped", related + "kill\nleave db:1 mysql/0\njoin db:1 mysql/1\n" +
			"> db-relation-departed(mysql/0) db-relation-joined(mysql/1) db-relation-changed(mysql/1)"},
		{"U-REL-8 a relation that the model doesn't have is forgotten", related + "vanish db:1\n>\nis idle nothing"},
		{"U-REL-9 a unit joins and leaves unseen", related + "join db:1 mysql/1\nleave db:1 mysql/1\n>"},
		{"U-REL-9 a unit leaves after its joined", related + "join db:1 mysql/1\nstop in db-relation-changed\n> db-relation-joined(mysql/1) db-relation-changed(mysql/1)? db-relation-changed(mysql/1)"},
		{"U-REL-10 relations go by endpoint name, then by id", booted + "relate web:3 haproxy\nrelate web:12 haproxy\nrelate db:4 mysql\nrelate db:2 mysql\nrelate db:10 mysql\n" +
			"join web:3 haproxy/0\njoin db:10 mysql/0\njoin db:2 mysql/0\n" +
			"> db-relation-created:2 db-relation-created:4 db-relation-created:10 web-relation-created:3 web-relation-created:12 " +
			"db-relation-joined:2(mysql/0) db-relation-changed:2(mysql/0) db-relation-joined:10(mysql/0) db-relation-changed:10(mysql/0) " +
			"web-relation-joined:3(haproxy/0) web-relation-changed:3(haproxy/0)"},
		{"U-REL-10 what is going goes first, peers last", "relate cluster:0 app\nrelate db:1 mysql\nrelate db:2 mysql\nrelate web:3 haproxy\n" +
			"> install cluster-relation-created:0 db-relation-created:1 db-relation-created:2 web-relation-created:3 leader-elected config-changed start\n" +
			"unrelate db:2\nunrelate web:3\njoin db:1 mysql/0\n" +
			"> db-relation-broken:2 web-relation-broken:3 db-relation-joined:1(mysql/0) db-relation-changed:1(mysql/0)\n" +
			"destroy\n> db-relation-departed:1(mysql/0,app/0) db-relation-broken:1 cluster-relation-broken:0 stop remove"},
		{"U-REL-11 peers", "relate cluster:0 app\n> install cluster-relation-created leader-elected config-changed start\njoin cluster:0 app/1\n" +
			"> cluster-relation-joined(app/1) cluster-relation-changed(app/1)"},
		{"U-REL-12 application data", related + "write db:1 mysql\n> db-relation-changed"},
		{"U-REL-13 suspended, and resumed", related + "suspend db:1\n> db-relation-departed(mysql/0) db-relation-broken\nresume db:1\n" +
			"> db-relation-created db-relation-joined(mysql/0) db-relation-changed(mysql/0)"},
		{"a relation that was never Alive for the unit is skipped", booted + "relate db:1 mysql\nunrelate db:1\n>"},
		{"nothing of a relation runs before install, nor joined before start", "relate db:1 mysql\njoin db:1 mysql/0\nfail start\n" +
			"> install db-relation-created leader-elected config-changed start!\n>\nresolved-no-retry\n> db-relation-joined(mysql/0) db-relation-changed(mysql/0)"},
		{"O-REL-21 the implicit endpoint has no hooks", booted + "relate juju-info:1 ntp\n>\njoin juju-info:1 ntp/0\n>\nwrite juju-info:1 ntp/0\n>\nunrelate juju-info:1\n>"},
		{"O-REL-21 a unit that goes leaves its implicit endpoint without a hook", booted + "relate juju-info:1 ntp\njoin juju-info:1 ntp/0\n>\ndestroy\n> stop remove"},
		{"U-RER-1 joined fails", "relate db:1 mysql\n" + booted0 + "join db:1 mysql/0\nfail db-relation-joined\n> db-relation-joined(mysql/0)!\nis idle db-relation-joined\n" +
			"resolved-no-retry\n> db-relation-changed(mysql/0)"},
		{"U-RER-2 changed fails", changing + "resolved-no-retry\n>\nwrite db:1 mysql/0\n> db-relation-changed(mysql/0)"},
		{"U-RER-2 settings change while changed is in error", changing + "write db:1 mysql/0\nresolved\n> db-relation-changed(mysql/0)\n>"},
		{"U-RER-3 changed fails for a unit that then leaves", changing + "leave db:1 mysql/0\n>\nresolved-no-retry\n> db-relation-departed(mysql/0)"},
		{"U-RER-4 changed fails, then the relation is removed", changing + "unrelate db:1\n>\nresolved-no-retry\n> db-relation-departed(mysql/0) db-relation-broken"},
		{"U-RER-5 changed fails, then the relation is gone by force", changing + "kill\nvanish db:1\n>\nis idle nothing"},
	}
}

func storageStories() []story {
	const there = "storage data/0\nprovide data/0\n> data-storage-attached(data/0) install leader-elected config-changed start\n"
	return []story{
		{"U-STO-1 attached before install", "storage data/0\nstorage logs/1\n>\nis idle waiting for storage data/0\nprovide logs/1\n> logs-storage-attached(logs/1)\n" +
			"is idle waiting for storage data/0\nprovide data/0\n> data-storage-attached(data/0) install leader-elected config-changed start"},
		{"U-STO-1 what was added later is told when it is there", there + "add-storage data/1\n>\nconfig 2\nprovide data/1\n> data-storage-attached(data/1) config-changed"},
		{"U-STO-1 attached fails, and runs again where the storage is then", "storage data/0\nprovide data/0\nfail data-storage-attached\n> data-storage-attached(data/0)!\n" +
			"move data/0\nresolved\n> data-storage-attached(data/0) install leader-elected config-changed start"},
		{"U-STO-2 detaching of what was attached, before the relations are broken and stop", "relate db:1 mysql\njoin db:1 mysql/0\nstorage data/0\nprovide data/0\nadd-storage data/1\n" +
			"> data-storage-attached(data/0) install db-relation-created leader-elected config-changed start db-relation-joined(mysql/0) db-relation-changed(mysql/0)\n" +
			"destroy\n> data-storage-detaching(data/0) db-relation-departed(mysql/0,app/0) db-relation-broken stop remove\nis terminate Dead"},
		{"U-STO-2 the operator detaches", there + "detach data/0\n> data-storage-detaching(data/0)\n>\nkill\n>"},
		{"U-STO-2 detaching fails and is skipped", there + "detach data/0\nfail data-storage-detaching\n> data-storage-detaching(data/0)!\nresolved-no-retry\n>"},
		{"U-STO-2 storage that was lost is told of no more, and detached all the same", there + "lose data/0\n>\nprovide data/0\n>\nlose data/0\ndestroy\n> data-storage-detaching(data/0) stop remove\nis terminate Dead"},
		{"U-STO-2 killed after detaching", there + "destroy\nkill after data-storage-detaching\n> data-storage-detaching(data/0) stop remove\nis terminate Dead"},
		{"U-STO-2 storage that goes before its attached was resolved", "storage data/0\nprovide data/0\nfail data-storage-attached\n> data-storage-attached(data/0)!\ndetach data/0\n>\n" +
			"resolved-no-retry\n> data-storage-detaching(data/0) install leader-elected config-changed start"},
		{"U-STO-3 storage that never comes", "storage data/0\n>\ndestroy\n>\nis terminate Dead"},
		{"U-STO-3 storage that never comes, beside some that came", "storage data/0\nprovide data/0\nstorage data/1\n> data-storage-attached(data/0)\n" +
			"destroy\n> data-storage-detaching(data/0)\nis terminate Dead"},
	}
}

func endStories() []story {
	return []story{
		{"U-DIE-1 a settled unit is removed", booted + "destroy\n> stop remove\nis terminate Dead"},
		{"U-DIE-2 in error at start, removed", "fail start\n> install leader-elected config-changed start!\ndestroy\n>\nis idle start\nresolved-no-retry\n> stop remove\nis terminate Dead"},
		{"U-DIE-3 dying before install ran", "relate db:1 mysql\ndestroy\n>\nis terminate Dead"},
		{"U-DIE-4 stop fails", booted + "destroy\nfail stop\n> stop!\n>\nresolved\n> stop remove\nis terminate Dead"},
		{"U-DIE-5 subordinates go first", "subordinate ntp/0\n" + booted + "destroy\n> stop remove\nis idle ntp/0\nsubordinate-gone\n>\nis terminate Dead"},
		{"U-DIE-6 the application is removed: the unit marks itself", related + "orphan\n> db-relation-departed(mysql/0,app/0) db-relation-broken stop remove\nis terminate Dead"},
		{"U-RBT-1 the machine is rebooted", related + "reboot\n> start\nkill\n>"},
		{"U-RBT-1 rebooted before start has run", "stop in start\n> install leader-elected config-changed start? start\nreboot\n> start"},
		{"U-RBT-1 rebooted in error", booted + "fail config-changed\nconfig 2\n> config-changed!\nreboot\n>\nresolved\n> config-changed start"},
		{"U-RBT-1 rebooted in error at start", "fail start\n> install leader-elected config-changed start!\nreboot\n>\nresolved-no-retry\n> start\nreboot\n> start"},
		{"U-RBT-1 start fails after a reboot", booted + "fail start\nreboot\n> start!\nreboot\n>\nresolved\n> start"},
		{"a dying unit takes no new configuration, charm, relation or leadership",
			"depose\n> install leader-settings-changed config-changed start\ndestroy\nconfig 2\ncharm ch:app-2\nrelate db:1 mysql\nlead\n> stop remove"},
		{"a unit that dies between install and start runs no stop", "fail leader-elected\n> install leader-elected!\ndestroy\nresolved-no-retry\n> remove\nis terminate Dead"},
		{"a dying unit finishes an upgrade first", booted + "charm ch:app-2\nfail upgrade-charm\n> upgrade-charm!\ndestroy\nresolved-no-retry\n> config-changed stop remove"},
	}
}

func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range stories() {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			p := &player{T: t, w: sim.New("app/0", "ch:app-1", true)}
			for _, line := range strings.Split(strings.TrimSpace(s.lines), "\n") {
				p.play(strings.TrimSpace(line))
			}
			if len(p.ends) > 0 {
				t.Errorf("these never ran: %v", p.ends)
			}
			if err := p.w.Rested(); err != nil {
				t.Error(err)
			}
		})
	}
}

type end struct {
	what string
	how  sim.How
}

// player plays the lines of a story.
type player struct {
	*testing.T
	w    sim.World
	ends []end // how the next runs end
}

func (p *player) play(line string) {
	p.Helper()
	verb, rest, _ := strings.Cut(line, " ")
	switch verb {
	case "":
	case ">":
		p.settle(line, rest)
	case "fail":
		p.ends = append(p.ends, end{rest, sim.Badly})
	case "overdue":
		p.ends = append(p.ends, end{rest, sim.Overdue})
	case "stop":
		p.ends = append(p.ends, end{strings.TrimPrefix(rest, "in "), sim.StoppedAgent})
	case "kill":
		switch when, what, _ := strings.Cut(rest, " "); when {
		case "in":
			p.ends = append(p.ends, end{what, sim.KilledWithin})
		case "after":
			p.ends = append(p.ends, end{what, sim.KilledAfter})
		default:
			p.w.Kill()
		}
	case "is":
		p.is(rest)
	case "not":
		if p.w.Local.Leader {
			p.Error("the unit believes that it leads")
		}
	default:
		if ok, err := p.w.Act(line); err != nil || !ok {
			p.Fatalf("%s: could be done: %v, %v", line, ok, err)
		}
	}
}

// settle lets the agent work and compares the hooks that ran: with "!" those
// that failed, with "?" those that were stopped.
func (p *player) settle(line, want string) {
	p.Helper()
	var ran []string
	for {
		op := p.w.Decide()
		if op.Verb == resolver.Idle || op.Verb == resolver.Terminate {
			break
		}
		how := p.how(op)
		if op.Verb == resolver.RunHook {
			mark := map[sim.How]string{sim.Badly: "!", sim.KilledWithin: "!", sim.StoppedAgent: "?"}[how]
			ran = append(ran, describe(op.Hook, strings.Contains(want, ":"))+mark)
		}
		if err := p.w.Do(how); err != nil || len(ran) > 100 {
			p.Fatalf("%s: %v, after %v", line, err, ran)
		}
	}
	if got := strings.Join(ran, " "); got != strings.TrimSpace(want) {
		p.Errorf("%s\n got %s\nwant %s", line, got, want)
	}
}

func (p *player) how(op resolver.Op) sim.How {
	for i, e := range p.ends {
		if e.what == string(op.Verb) || op.Verb == resolver.RunHook && e.what == op.Hook.Name() {
			p.ends = append(p.ends[:i:i], p.ends[i+1:]...)
			return e.how
		}
	}
	return sim.Well
}

func (p *player) is(want string) {
	p.Helper()
	verb, reason, _ := strings.Cut(want, " ")
	p.w.Look()
	op := p.w.Decide()
	if string(op.Verb) != verb || !strings.Contains(op.Reason, reason) {
		p.Errorf("the agent is to %s, because %q; want %s", op.Verb, op.Reason, want)
	}
}

// describe is a hook as the stories have it: its name, the id of its relation
// if ids, then who it is about and who departs if that is somebody else.
func describe(h hooks.Info, ids bool) string {
	s := h.Name()
	if ids && h.IsRelation() {
		s += fmt.Sprintf(":%d", h.RelationID)
	}
	switch {
	case h.Departing != "" && h.Departing != h.RemoteUnit:
		return fmt.Sprintf("%s(%s,%s)", s, h.RemoteUnit, h.Departing)
	case h.RemoteUnit != "":
		return fmt.Sprintf("%s(%s)", s, h.RemoteUnit)
	case h.Storage != "":
		return fmt.Sprintf("%s(%s)", s, h.Storage)
	case h.About() != "":
		return fmt.Sprintf("%s(%s)", s, h.About())
	}
	return s
}
