package sim

import (
	"github.com/juju/errors"

	"github.com/unitd/unitd/hooks"
)

// Worlds are the worlds to explore, each about one thing that happens to a
// unit, with a failure, a kill and an orderly stop at any place. The error is
// about the table itself.
func Worlds() ([]Config, error) {
	var all []Config
	for _, row := range append(worlds(), containerWorlds()...) {
		c, err := row.config()
		if err != nil {
			return nil, errors.Annotatef(err, "world %q", row.name)
		}
		all = append(all, c)
	}
	return all, nil
}

// row is a world as a table has it.
type row struct {
	name   string
	leader bool
	// before has happened when the story begins; "settle" lets the agent work.
	before []string
	actors []Actor
}

func worlds() []row {
	settledMember := []string{"relate db:1 mysql", "join db:1 mysql/0", "settle"}
	return []row{
		{"the unit boots", true, nil, nil},
		{"the unit boots while leadership comes and goes", false, nil, []Actor{{"model", []string{"lead", "depose", "lead"}}}},
		{"the unit boots with a relation and a peer relation", true,
			[]string{"relate cluster:0 app", "relate db:1 mysql"}, []Actor{{"mysql/0", []string{"join db:1 mysql/0"}}}},
		{"the unit is removed while it boots", true, []string{"relate db:1 mysql"}, []Actor{{"operator", []string{"destroy"}}}},
		{"the application goes while the unit boots", true, nil, []Actor{{"operator", []string{"orphan"}}}},
		{"configuration changes, and back", true, []string{"settle"}, []Actor{{"operator", []string{"config 2", "config 1"}}}},
		{"configuration changes while the charm is upgraded", true, []string{"settle"}, []Actor{
			{"operator", []string{"config 2"}}, {"other operator", []string{"charm ch:app-2"}}}},
		{"the charm is upgraded by force, and back", true, []string{"settle"}, []Actor{
			{"operator", []string{"force-charm ch:app-2", "force-charm ch:app-1"}}}},
		{"the charm is upgraded while the unit boots", true, nil, []Actor{{"operator", []string{"charm ch:app-2"}}}},
		{"the charm is upgraded while a relation appears", true, []string{"settle"}, []Actor{
			{"operator", []string{"charm ch:app-2"}}, {"other operator", []string{"relate db:1 mysql"}}}},
		{"resources are given while the unit boots", true, nil, []Actor{{"operator", []string{"resources"}}}},
		{"resources are given while the charm is upgraded", true, []string{"settle"}, []Actor{
			{"operator", []string{"resources", "resources"}}, {"other operator", []string{"charm ch:app-2"}}}},
		{"resources are given while the unit is removed", true, []string{"settle"}, []Actor{
			{"operator", []string{"resources"}}, {"other operator", []string{"destroy"}}}},
		{"the charm is upgraded while the unit is removed", true, []string{"settle"}, []Actor{
			{"operator", []string{"charm ch:app-2"}}, {"other operator", []string{"destroy"}}}},
		{"the charm directory is lost", true, settledMember, []Actor{{"chance", []string{"lose-charm"}}}},
		{"the newest record of the journal is lost, and nobody notices", true, settledMember, []Actor{
			{"chance", []string{"lose-record", "lose-record"}}, {"mysql/0", []string{"write db:1 mysql/0", "leave db:1 mysql/0"}}}},
		{"the newest record of the journal is lost while the unit boots", true, []string{"relate db:1 mysql"}, []Actor{
			{"chance", []string{"lose-record"}}, {"mysql/0", []string{"join db:1 mysql/0"}}}},
		{"the machine is rebooted while the unit boots", true, nil, []Actor{{"chance", []string{"reboot"}}}},
		{"the machine is rebooted twice while configuration changes", true, []string{"settle"}, []Actor{
			{"chance", []string{"reboot", "reboot"}}, {"operator", []string{"config 2"}}}},
		{"the machine is rebooted while the charm is upgraded", true, []string{"settle"}, []Actor{
			{"chance", []string{"reboot"}}, {"operator", []string{"charm ch:app-2"}}}},
		{"the machine is rebooted while the unit is removed", true, settledMember, []Actor{
			{"chance", []string{"reboot"}}, {"operator", []string{"destroy"}}}},
		{"leadership comes and goes, and settings change", false, []string{"settle"}, []Actor{
			{"lease", []string{"lead", "depose"}}, {"leader", []string{"leader-settings"}}}},
		{"a remote unit joins, writes, leaves and comes back", true, []string{"relate db:1 mysql", "settle"}, []Actor{
			{"mysql/0", []string{"join db:1 mysql/0", "write db:1 mysql/0", "leave db:1 mysql/0", "join db:1 mysql/0"}}}},
		{"two remote units join and leave", true, []string{"relate db:1 mysql", "settle"}, []Actor{
			{"mysql/0", []string{"join db:1 mysql/0", "leave db:1 mysql/0"}}, {"mysql/1", []string{"join db:1 mysql/1"}}}},
		{"a relation is removed while its member writes", true, settledMember, []Actor{
			{"mysql/0", []string{"write db:1 mysql/0", "write db:1 mysql", "leave db:1 mysql/0"}}, {"operator", []string{"unrelate db:1"}}}},
		{"a relation vanishes by force", true, settledMember, []Actor{
			{"mysql/0", []string{"write db:1 mysql/0"}}, {"operator", []string{"unrelate db:1", "vanish db:1"}}}},
		{"a relation is suspended and resumed", true, settledMember, []Actor{
			{"operator", []string{"suspend db:1", "resume db:1"}}, {"mysql/0", []string{"leave db:1 mysql/0", "join db:1 mysql/0"}}}},
		{"a relation appears and is removed", true, []string{"settle"}, []Actor{
			{"operator", []string{"relate db:1 mysql", "unrelate db:1"}}, {"mysql/0", []string{"join db:1 mysql/0", "leave db:1 mysql/0"}}}},
		{"a relation to a subordinate is made anew before the old subordinate is gone", true,
			[]string{"settle", "relate juju-info:2 ntp", "hold juju-info:2"}, []Actor{
				{"operator", []string{"config 2", "unrelate juju-info:2"}}, {"ntp", []string{"let juju-info:2", "join juju-info:2 ntp/1", "leave juju-info:2 ntp/1"}}}},
		{"the unit is removed while a member joins", true, settledMember, []Actor{
			{"mysql/1", []string{"join db:1 mysql/1"}}, {"operator", []string{"destroy"}}}},
		{"the unit is removed with a peer relation and a subordinate", true,
			[]string{"relate cluster:0 app", "join cluster:0 app/1", "relate juju-info:2 ntp", "join juju-info:2 ntp/0", "subordinate ntp/0", "settle"},
			[]Actor{{"operator", []string{"destroy"}}, {"ntp/0", []string{"leave juju-info:2 ntp/0", "subordinate-gone"}}}},
		{"the unit is removed by force", true, settledMember, []Actor{
			{"operator", []string{"destroy", "force-dead"}}, {"mysql/0", []string{"write db:1 mysql/0"}}}},
		{"tasks are asked for while the unit boots", true, nil, []Actor{{"operator", []string{"ask-task", "ask-task"}}}},
		{"a task is asked for, and cancelled, while another one waits", true, []string{"settle"}, []Actor{
			{"operator", []string{"ask-task", "ask-task", "cancel-task"}}, {"other operator", []string{"config 2"}}}},
		{"tasks are asked for while a remote unit joins", true, []string{"relate db:1 mysql", "settle"}, []Actor{
			{"operator", []string{"ask-task"}}, {"mysql/0", []string{"join db:1 mysql/0", "write db:1 mysql/0"}}}},
		{"a task is asked for while the charm is upgraded", true, []string{"settle"}, []Actor{
			{"operator", []string{"ask-task"}}, {"other operator", []string{"charm ch:app-2"}}}},
		{"a task is asked for while the charm directory is lost", true, []string{"settle"}, []Actor{
			{"operator", []string{"ask-task"}}, {"chance", []string{"lose-charm"}}}},
		{"tasks are asked for while the unit is removed", true, settledMember, []Actor{
			{"operator", []string{"ask-task", "ask-task"}}, {"other operator", []string{"destroy"}}}},
		{"the unit boots with storage that takes its time", true, []string{"storage data/0", "storage logs/1"},
			[]Actor{{"host", []string{"provide data/0", "provide logs/1"}}}},
		{"the unit is removed while it waits for storage", true, []string{"storage data/0", "storage logs/1"},
			[]Actor{{"host", []string{"provide data/0", "provide logs/1"}}, {"operator", []string{"destroy"}}}},
		{"storage is added and detached", true, []string{"storage data/0", "provide data/0", "settle"}, []Actor{
			{"operator", []string{"add-storage data/1", "detach data/0", "detach data/1"}}, {"host", []string{"provide data/1"}}}},
		{"storage is added and detached while the unit boots", true, nil, []Actor{
			{"operator", []string{"add-storage data/1", "provide data/1", "detach data/1"}}}},
		{"storage moves while its hook is in error", true, []string{"storage data/0", "settle"}, []Actor{
			{"host", []string{"provide data/0", "move data/0"}}}},
		{"storage is lost for a while", true, []string{"storage data/0", "provide data/0", "settle"}, []Actor{
			{"host", []string{"lose data/0", "provide data/0"}}, {"operator", []string{"detach data/0"}}}},
		{"storage vanishes by force", true, []string{"storage data/0", "provide data/0", "settle"}, []Actor{
			{"operator", []string{"detach data/0", "vanish-storage data/0"}}}},
		{"the charm is upgraded while storage comes and goes", true, []string{"storage data/0", "provide data/0", "settle", "add-storage data/1"}, []Actor{
			{"operator", []string{"charm ch:app-2", "detach data/0"}}, {"host", []string{"provide data/1"}}}},
		{"the unit is removed with storage and a relation", true, append([]string{"storage data/0", "provide data/0", "add-storage data/1"}, settledMember...), []Actor{
			{"operator", []string{"destroy"}}, {"host", []string{"provide data/1"}}}},
		{"the charm directory is lost with storage while the unit boots", true, []string{"storage data/0", "provide data/0", "storage data/1"}, []Actor{
			{"chance", []string{"lose-charm"}}, {"operator", []string{"destroy"}}}},
		{"hooks ask to run again while configuration changes", true, []string{"settle"}, []Actor{
			{"charm", []string{"ask-again", "ask-again"}}, {"operator", []string{"config 2", "config 1"}}, {"clock", []string{"wait 1m"}}}},
		{"hooks ask to run again while the unit boots", true, nil, []Actor{
			{"charm", []string{"ask-again"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook of a relation asks to run again while its unit leaves", true, []string{"relate db:1 mysql", "settle"}, []Actor{
			{"charm", []string{"ask-again"}}, {"mysql/0", []string{"join db:1 mysql/0", "leave db:1 mysql/0"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook of a relation asks to run again while the relation goes", true, append(settledMember, "ask-again"), []Actor{
			{"mysql/0", []string{"write db:1 mysql/0"}}, {"operator", []string{"suspend db:1"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook asks to run again while leadership comes and goes", false, []string{"settle"}, []Actor{
			{"charm", []string{"ask-again"}}, {"lease", []string{"lead", "depose"}}, {"leader", []string{"leader-settings"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook asks to run again while the charm is upgraded", true, []string{"settle"}, []Actor{
			{"charm", []string{"ask-again"}}, {"operator", []string{"charm ch:app-2", "force-charm ch:app-3"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook asks to run again while the unit is removed", true, settledMember, []Actor{
			{"charm", []string{"ask-again"}}, {"mysql/0", []string{"write db:1 mysql/0"}}, {"operator", []string{"destroy"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook asks to run again while storage comes and goes", true, []string{"settle", "add-storage data/0", "ask-again"}, []Actor{
			{"host", []string{"provide data/0", "detach data/0"}}, {"clock", []string{"wait 1m"}}}},
		{"a hook asks to run again, and the newest record of the journal is lost", true, []string{"settle"}, []Actor{
			{"charm", []string{"ask-again"}}, {"operator", []string{"config 2"}}, {"chance", []string{"lose-record"}}, {"clock", []string{"wait 1m"}}}},
		{"time passes with retries and update-status", true,
			[]string{"retry", "status-interval 5m", "settle"},
			[]Actor{{"clock", []string{"wait 4s", "wait 1s", "wait 5m", "wait 5m"}}, {"operator", []string{"config 2"}}}},
	}
}

func (r row) config() (Config, error) {
	w := New("app/0", "ch:app-1", r.leader)
	for _, line := range r.before {
		var err error
		if line == "settle" {
			_, err = w.Settle(func(hooks.Info) How { return Well })
		} else {
			_, err = w.Act(line)
		}
		if err != nil {
			return Config{}, errors.Annotate(err, line)
		}
	}
	return Config{Name: r.name, Start: w, Actors: r.actors, Failures: 1, Kills: 1, Stops: 1}, nil
}
