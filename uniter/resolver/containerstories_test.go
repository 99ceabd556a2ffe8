package resolver_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/unitd/unitd/hooks"
	"github.com/unitd/unitd/uniter/resolver"
)

// containerStories are scenarios of docs/spec/containers.md §9, played by sim.World.
func containerStories() []story {
	const (
		up      = "container web\nstart-container web\n"
		booted  = up + "> install leader-elected web-pebble-ready config-changed start\n"
		notice  = "web-pebble-custom-notice"
		asleep  = "wait 5s\n"
		inError = "config 2\nfail config-changed\n> config-changed!\n"
	)
	return []story{
		{"K-022 Pebble is there before install", "storage data/0\nprovide data/0\nrelate db:1 mysql\n" + up +
			"> install db-relation-created leader-elected web-pebble-ready data-storage-attached(data/0) config-changed start"},
		{"K-022 storage that comes late holds nothing up", "storage data/0\n" + booted + "provide data/0\n> data-storage-attached(data/0)"},
		{"K-023 Pebble comes during the first config-changed", "container web\nfail config-changed\n> install leader-elected config-changed!\n" +
			"start-container web\nresolved\n> config-changed start web-pebble-ready"},
		{"K-024 not before install", up + "fail install\n> install!\n>\nresolved\n> install leader-elected web-pebble-ready config-changed start"},
		{"K-025 it comes during upgrade-charm", booted + "replace\nfail upgrade-charm\n> stop upgrade-charm!\nstart-container web\nresolved\n> upgrade-charm config-changed start web-pebble-ready"},
		{"K-027 before a remote unit joins", "relate db:1 mysql\n" + up + "> install db-relation-created leader-elected web-pebble-ready config-changed start\n" +
			"join db:1 mysql/0\nstart-container web\n> web-pebble-ready db-relation-joined(mysql/0) db-relation-changed(mysql/0)"},
		{"K-028 after relation-created", booted + "start-container web\nrelate db:1 mysql\n> db-relation-created web-pebble-ready"},
		{"K-029 before config-changed", booted + "config 2\nstart-container web\n> web-pebble-ready config-changed"},
		{"K-030 the container that is up first", "container a\ncontainer b\nstart-container b\nstart-container a\n" +
			"> install leader-elected b-pebble-ready a-pebble-ready config-changed start\n>"},
		{"K-031 a container that takes long holds up nothing else", "container slow\n" + booted + "config 2\n> config-changed\nstart-container slow\n> slow-pebble-ready\n>"},
		{"K-032 a notice before pebble-ready", "container web\nnotice web 1\nstart-container web\n> install leader-elected " + notice + "(example.com/1) web-pebble-ready config-changed start\n>"},
		{"K-033 a container ends and starts", booted + "stop-container web\n>\nstart-container web\n> web-pebble-ready\n>"},
		{"K-039 a check fails before Pebble is seen", "container web\ncheck-fails web 1\nstart-container web\n> install leader-elected web-pebble-check-failed(up) web-pebble-ready config-changed start"},
		{"K-040 the agent is killed", booted + "kill\n>\nkill\n>"},
		{"K-041 the agent is killed in pebble-ready", booted + "start-container web\nkill in web-pebble-ready\n> web-pebble-ready!\n>\n" + asleep + "> web-pebble-ready\n>"},
		{"K-042 the agent is killed in config-changed", booted + "config 2\nkill in config-changed\n> config-changed!\nstart-container web\n>\nresolved\n> config-changed web-pebble-ready"},
		{"K-043 the unit is made anew, with its storage", "storage data/0\nprovide data/0\n" + up + "> install leader-elected web-pebble-ready data-storage-attached(data/0) config-changed start\n" +
			"replace\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-043 the agent is killed as the containers are replaced", booted + "replace\nkill after replace\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-044 the same after install has failed", up + "fail install\n> install!\nreplace\n> install leader-elected web-pebble-ready config-changed start"},
		{"K-044 the same as the agent is killed in install", up + "kill in install\n> install!\nreplace\n> install leader-elected web-pebble-ready config-changed start"},
		{"K-045 the host is rebooted", "container db\nstart-container db\n" + up + "> install leader-elected db-pebble-ready web-pebble-ready config-changed start\n" +
			"reboot\nstart-container web\nstart-container db\n> start web-pebble-ready db-pebble-ready\n>"},
		{"K-046 three starts are one", booted + "start-container web\nstart-container web\nstart-container web\n> web-pebble-ready\n>"},
		{"K-051 pebble-ready fails for ever", up + "fail web-pebble-ready\n> install leader-elected web-pebble-ready! config-changed start\nis idle nothing\nwait 4s\n>\n" +
			"wait 1s\nfail web-pebble-ready\n> web-pebble-ready!\n" + asleep + "fail web-pebble-ready\n> web-pebble-ready!\nkill\n>"},
		{"K-052 it fails twice, then succeeds", booted + "start-container web\nfail web-pebble-ready\n> web-pebble-ready!\n" + asleep + "fail web-pebble-ready\n> web-pebble-ready!\n" +
			asleep + "> web-pebble-ready\n" + asleep + ">"},
		{"K-053 a restart while config-changed is in error", booted + inError + "start-container web\n>\nstart-container web\nresolved\n> config-changed web-pebble-ready\n>"},
		{"K-054 three events while config-changed is in error", booted + inError + "notice web 1\ncheck-fails web 2\ncheck-recovers web 3\n>\nresolved\n" +
			"> config-changed " + notice + "(example.com/1) web-pebble-check-failed(up) web-pebble-check-recovered(up)"},
		{"K-055 a notice's hook fails once", booted + "notice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\n>\n" + asleep + "> " + notice + "(example.com/1)\n" + asleep + ">"},
		{"K-056 another container's hook goes first", "container db\nstart-container db\n" + up + "fail db-pebble-ready\n> install leader-elected db-pebble-ready! web-pebble-ready config-changed start\n" +
			asleep + "notice web 1\n> " + notice + "(example.com/1) db-pebble-ready"},
		{"K-057 the container starts anew as its pebble-ready fails", booted + "start-container web\nfail web-pebble-ready\n> web-pebble-ready!\nstart-container web\n> web-pebble-ready\n" + asleep + ">"},
		{"a hook that has failed waits for Pebble to answer", booted + "notice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\nstop-container web\n" + asleep + ">\n" +
			"start-container web\n> web-pebble-ready " + notice + "(example.com/1)"},
		{"a notice is repeated after its hook has failed", booted + "notice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\nnotice web 1\n> " + notice + "(example.com/1)\n" + asleep + ">"},
		{"K-133 a pebble-ready that is due goes before what has failed", booted + "notice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\n" + asleep +
			"start-container web\n> web-pebble-ready " + notice + "(example.com/1)"},
		{"hooks of containers stand as others do", booted + "workload-errors\nstart-container web\nfail web-pebble-ready\n> web-pebble-ready!\nis idle web-pebble-ready\nconfig 2\n>\nresolved\n> web-pebble-ready config-changed"},
		{"they are skipped as others are", booted + "workload-errors\nnotice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\nresolved-no-retry\n>"},
		{"they are retried as others are", booted + "retry\nworkload-errors\nstart-container web\nfail web-pebble-ready\n> web-pebble-ready!\n" + asleep + "> web-pebble-ready"},
		{"they stand no more", booted + "workload-errors\nstart-container web\nfail web-pebble-ready\n> web-pebble-ready!\nconfig 2\n>\nno-workload-errors\n> config-changed\n" + asleep + "> web-pebble-ready"},
		{"K-067 the same key three times", booted + "notice web 1\nnotice web 1\nnotice web 1\n> " + notice + "(example.com/1)\n>"},
		{"K-068 the same key again afterwards", booted + "notice web 1\n> " + notice + "(example.com/1)\nnotice web 1\n> " + notice + "(example.com/1)\n>"},
		{"K-070 keys in their order", booted + "notice web 2\nnotice web 1\nnotice web 3\n> " + notice + "(example.com/2) " + notice + "(example.com/1) " + notice + "(example.com/3)"},
		{"K-071 the agent is restarted", booted + "notice web 1\nnotice web 2\n> " + notice + "(example.com/1) " + notice + "(example.com/2)\nkill\n>"},
		{"K-073 the container is restarted", booted + "notice web 1\n> " + notice + "(example.com/1)\nstart-container web\n> web-pebble-ready\n>"},
		{"K-074 the container is made anew", booted + "notice web 1\n> " + notice + "(example.com/1)\nreplace\n> stop upgrade-charm config-changed start web-pebble-ready\nnotice web 1\n> " + notice + "(example.com/1)"},
		{"K-078 a notice in a unit that goes", booted + "destroy\nnotice web 1\nnotice web 2\n> " + notice + "(example.com/1) stop " + notice + "(example.com/2) remove\nis terminate Dead"},
		{"K-084 a check fails, recovers and fails", booted + "check-fails web 1\ncheck-recovers web 2\ncheck-fails web 3\n" +
			"> web-pebble-check-failed(up) web-pebble-check-recovered(up) web-pebble-check-failed(up)\n>"},
		{"K-087 the agent is restarted after a check has failed", booted + "check-fails web 1\ncheck-recovers web 2\n> web-pebble-check-failed(up) web-pebble-check-recovered(up)\nkill\n>"},
		// The unit's addresses are among what config stands for.
		{"K-109 another address comes with other containers", booted + "replace\nconfig 2\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-109 another address comes later", booted + "replace\n> stop upgrade-charm config-changed start web-pebble-ready\nconfig 2\n> config-changed\n>"},
		{"K-110 another image, when it is the unit's turn", booted + "resources\n>\nreplace\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 another charm, when it is the unit's turn", booted + "charm ch:app-2\n>\nreplace\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-116 stop takes too long", booted + "replace\noverdue stop\n> stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-116 stop fails: it holds nothing up", booted + "replace\nfail stop\n> stop! upgrade-charm config-changed start web-pebble-ready\n>"},
		{"notices without end hold a change of configuration up for eight hooks", booted + notices(1, 10) + "config 2\n> " + told(1, 8) + " config-changed " + told(9, 10) + "\n>"},
		{"K-116 the agent is killed in stop: it runs again", booted + "replace\nkill in stop\n> stop! stop upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 in error: the failed hook is told of anew", booted + inError + "replace\n> upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 in error, with a retry to come", booted + "retry\n" + inError + "replace\n> upgrade-charm config-changed start web-pebble-ready\n" + asleep + ">"},
		{"K-110 in error at the first start", up + "fail start\n> install leader-elected web-pebble-ready config-changed start!\nreplace\n> upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 in error in a relation", "relate db:1 mysql\n" + up + "> install db-relation-created leader-elected web-pebble-ready config-changed start\n" +
			"join db:1 mysql/0\nfail db-relation-joined\n> db-relation-joined(mysql/0)!\nreplace\n" +
			"> upgrade-charm config-changed start web-pebble-ready db-relation-joined(mysql/0) db-relation-changed(mysql/0)"},
		{"K-110 in error, with an answer that comes first", booted + inError + "resolved-no-retry\nreplace\n> stop upgrade-charm config-changed start web-pebble-ready"},
		{"K-110 in error at pebble-ready", booted + "workload-errors\nstart-container web\nfail web-pebble-ready\n> web-pebble-ready!\nreplace\n> upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 in error, and the agent is killed as the containers are replaced", booted + inError + "replace\nkill after replace\n> upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-110 in error in other containers, and again others", booted + "replace\nfail upgrade-charm\n> stop upgrade-charm!\nreplace\n> upgrade-charm config-changed start web-pebble-ready\n>"},
		{"K-119 a unit is removed while pebble-ready fails for ever", booted + "start-container web\nfail web-pebble-ready\n> web-pebble-ready!\n" + asleep + "destroy\n> stop remove\nis terminate Dead"},
		{"K-120 the agent is stopped and started", booted + "kill\n>"},
		{"a lost disk makes no pebble-ready, and no notice, run again", booted + "notice web 1\n> " + notice + "(example.com/1)\nlose-disk\n> upgrade-charm config-changed\n>"},
		{"a lost disk misses no start of a container", booted + "lose-disk\nstart-container web\n> upgrade-charm config-changed web-pebble-ready\n>"},
		{"a lost disk leaves a failed hook to be run", booted + "notice web 1\nfail " + notice + "\n> " + notice + "(example.com/1)!\nlose-disk\n> upgrade-charm config-changed " + notice + "(example.com/1)\n>"},
	}
}

// TestK132AnAnswerHasNoEffectOnWhatStandsAside: the unit isn't in error, so the
// number of the failed run answers nothing.
func TestK132AnAnswerHasNoEffectOnWhatStandsAside(t *testing.T) {
	t.Parallel()
	for _, mode := range []resolver.Mode{resolver.RunAgain, resolver.SkipIt} {
		l, r := situation(t, "settled sidecar up:web ready:web aside:web")
		l.Run, r.Resolved = 7, resolver.Resolved{Run: 7, Mode: mode}
		if op := resolver.Next(l, r); op.Verb != resolver.Idle || !op.Until.Equal(at("1")) {
			t.Errorf("%s: %s until %v", mode, op.Verb, op.Until)
		}
	}
}

// TestK021AHookThatTheCharmHasNotCountsAsRun: whether there was a program to run
// is nothing that a commit tells.
func TestK021AHookThatTheCharmHasNotCountsAsRun(t *testing.T) {
	t.Parallel()
	l, r := situation(t, "settled sidecar up:web")
	op := resolver.Next(l, r)
	l = resolver.After(resolver.After(l, op, resolver.Event{Kind: resolver.Began}), op, resolver.Event{Kind: resolver.Done})
	if again := resolver.Next(l, r); op.Hook.Kind != hooks.PebbleReady || again.Verb != resolver.Idle {
		t.Errorf("%s, then %s %s", op.Hook, again.Verb, again.Hook)
	}
}

// notices are those, in the words of stories; told are their hooks.
func notices(from, to int) (words string) {
	for n := from; n <= to; n++ {
		words += fmt.Sprintf("notice web %d\n", n)
	}
	return words
}

func told(from, to int) string {
	var words []string
	for n := from; n <= to; n++ {
		words = append(words, fmt.Sprintf("web-pebble-custom-notice(example.com/%d)", n))
	}
	return strings.Join(words, " ")
}
