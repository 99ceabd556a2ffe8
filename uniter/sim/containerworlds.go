package sim

// containerWorlds are those of units with workload containers.
func containerWorlds() []row {
	up := []string{"container web", "start-container web", "settle"}
	related := []string{"container web", "start-container web", "relate db:1 mysql", "join db:1 mysql/0", "settle"}
	return []row{
		{"containers start while the unit boots", true, []string{"container db", "container web"}, []Actor{
			{"web", []string{"start-container web", "start-container web"}}, {"db", []string{"start-container db"}}}},
		{"a container starts while the unit boots with storage", true, []string{"storage data/0", "provide data/0", "container web"},
			[]Actor{{"web", []string{"start-container web"}}}},
		{"a container ends and starts while configuration changes", true, up, []Actor{
			{"web", []string{"stop-container web", "start-container web"}}, {"operator", []string{"config 2"}}, {"clock", []string{"wait 5s"}}}},
		{"notices come and are repeated", true, up, []Actor{
			{"web", []string{"notice web 1", "notice web 2", "notice web 1"}}, {"clock", []string{"wait 5s"}}}},
		{"a check fails and recovers while its container starts anew", true, up, []Actor{
			{"checks", []string{"check-fails web 1", "check-recovers web 2"}}, {"web", []string{"start-container web"}}, {"clock", []string{"wait 5s"}}}},
		{"two containers speak while configuration changes", true,
			[]string{"container db", "container web", "start-container db", "start-container web", "settle"}, []Actor{
				{"db", []string{"notice db 1"}}, {"web", []string{"start-container web"}}, {"operator", []string{"config 2"}}}},
		{"tasks are asked for while a container starts", true, up, []Actor{
			{"operator", []string{"ask-task", "ask-task"}}, {"web", []string{"start-container web"}}}},
		{"hooks of containers stand as others do for a while", true, up, []Actor{
			{"operator", []string{"workload-errors", "no-workload-errors"}}, {"web", []string{"start-container web", "notice web 1"}}, {"clock", []string{"wait 5s"}}}},
		{"a container goes from the charm", true, up, []Actor{
			{"web", []string{"start-container web", "remove-container web"}}, {"operator", []string{"workload-errors"}}, {"clock", []string{"wait 5s"}}}},
		{"the newest record of the journal is lost while a container speaks", true, up, []Actor{
			{"chance", []string{"lose-record", "lose-record"}}, {"web", []string{"start-container web", "notice web 1"}}}},
		{"the disk is lost while a container speaks", true, up, []Actor{
			{"chance", []string{"lose-disk"}}, {"web", []string{"notice web 1", "start-container web"}}, {"clock", []string{"wait 5s"}}}},
		{"the machine is rebooted with containers", true, up, []Actor{
			{"chance", []string{"reboot", "start-container web"}}, {"operator", []string{"config 2"}}}},
		{"a hook of a container asks to run again while that starts anew", true, up, []Actor{
			{"charm", []string{"ask-again"}}, {"web", []string{"start-container web", "notice web 1"}}, {"clock", []string{"wait 1m"}}}},
		{"the unit is removed while its containers speak", true, related, []Actor{
			{"operator", []string{"destroy"}}, {"web", []string{"start-container web", "notice web 1"}}}},
		{"containers are replaced while the unit boots", true, []string{"container web"}, []Actor{
			{"operator", []string{"replace"}}, {"web", []string{"start-container web"}}}},
		{"containers are replaced with another charm while configuration changes", true, up, []Actor{
			{"operator", []string{"charm ch:app-2", "replace"}}, {"other operator", []string{"config 2"}}}},
		{"containers are replaced twice while they speak", true, up, []Actor{
			{"operator", []string{"replace", "replace"}}, {"web", []string{"notice web 1"}}}},
		{"containers are replaced by force, and back", true, up, []Actor{
			{"operator", []string{"force-charm ch:app-2", "replace", "force-charm ch:app-1", "replace"}}}},
		{"containers are replaced with resources while a remote unit joins", true, []string{"container web", "start-container web", "relate db:1 mysql", "settle"}, []Actor{
			{"operator", []string{"resources", "replace"}}, {"mysql/0", []string{"join db:1 mysql/0"}}}},
		{"containers are replaced while tasks are asked for", true, up, []Actor{
			{"operator", []string{"replace"}}, {"other operator", []string{"ask-task", "ask-task"}}}},
		{"containers are replaced in error, which is answered", true, related, []Actor{
			{"operator", []string{"replace"}}, {"other operator", []string{"resolved", "resolved-no-retry"}}, {"mysql/0", []string{"write db:1 mysql/0"}}}},
		{"containers are replaced while hooks of containers stand as others do", true, append([]string{"workload-errors"}, up...), []Actor{
			{"operator", []string{"replace"}}, {"web", []string{"start-container web", "notice web 1"}}}},
		{"containers are replaced while the unit is removed", true, related, []Actor{
			{"operator", []string{"replace"}}, {"other operator", []string{"destroy"}}}},
		{"containers are replaced while the charm directory is lost", true, up, []Actor{
			{"operator", []string{"replace"}}, {"chance", []string{"lose-charm"}}}},
		{"containers are replaced while the machine is rebooted", true, up, []Actor{
			{"operator", []string{"replace"}}, {"chance", []string{"reboot", "start-container web"}}}},
		{"containers are replaced while the disk is lost", true, up, []Actor{
			{"operator", []string{"replace"}}, {"chance", []string{"lose-disk"}}, {"leader", []string{"depose"}}}},
		{"containers are replaced while the newest record of the journal is lost", true, up, []Actor{
			{"operator", []string{"replace"}}, {"chance", []string{"lose-record", "lose-record"}}}},
	}
}
