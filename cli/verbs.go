package cli

// ofAgent is the group of the verbs that are about the program itself.
const ofAgent = "Agent and program"

// groups are all verbs, as help shows them.
func (a *program) groups() []Group {
	var (
		b        = a.base
		wait     = waiting{b}
		forced   = removals{b}
		status   = statusVerbs{b}
		storage  = storageVerbs{b}
		caches   = caches{a.deploying}
		charm    = charmVerbs{caches}
		hub      = hubVerbs{charm}
		up       = upVerbs{base: b, charmVerbs: charm, statusVerbs: status, waiting: wait}
		watch    = watchVerbs{up}
		test     = testVerbs{a.deploying}
		app      = appVerbs{a.deploying}
		unit     = unitVerbs{base: b, Deployer: a.Deployer, removals: forced, storageVerbs: storage}
		relation = relationVerbs{forced}
		offer    = offerVerbs{forced}
		secret   = secretVerbs{b}
		task     = taskVerbs{wait}
		inside   = insideVerbs{b}
		machine  = machineVerbs{b}
		space    = spaceVerbs{b}
		model    = modelVerbs{base: b, appVerbs: app, storageVerbs: storage, waiting: wait}
		limits   = constraintVerbs{b}
		keys     = sshKeyVerbs{b}
		control  = controllerVerbs{model}
		clouds   = cloudVerbs{b}
		store    = storeVerbs{b}
		backups  = backupVerbs{b}
		agent    = agentVerbs{b}
		measure  = benchVerbs{b}
	)
	return append([]Group{
		{Title: "Charms to try and to test", Verbs: []Verb{
			{"up", up.upCmd},
			{"watch", watch.watchCmd},
			{"init", test.initCmd},
			{"test", test.testCmd},
			{"check", test.checkCmd},
			{"pack", test.packCmd},
			{"record", test.recordCmd},
			{"replay", test.replayCmd},
			{"world", test.worldCmd},
			{"rewind", test.rewindCmd},
		}},
		{Title: "Applications and units", Verbs: []Verb{
			{"deploy", charm.deployCmd},
			{"export-bundle", charm.exportBundleCmd},
			{"diff-bundle", charm.diffBundleCmd},
			{"refresh", charm.refreshCmd},
			{"set-application-base", charm.setApplicationBaseCmd},
			{"rollback", charm.rollbackCmd},
			{"add-unit", unit.addUnitCmd},
			{"remove-unit", unit.removeUnitCmd},
			{"remove-application", unit.removeApplicationCmd},
			{"scale-application", unit.scaleApplicationCmd},
			{"config", app.configCmd},
			{"constraints", limits.constraintsCmd},
			{"set-constraints", limits.setConstraintsCmd},
			{"trust", unit.trustCmd},
			{"expose", app.exposeCmd},
			{"unexpose", app.unexposeCmd},
			{"resolved resolve", unit.resolvedCmd},
			{"attach-resource", charm.attachResourceCmd},
			{"resources list-resources", charm.resourcesCmd},
			{"payloads list-payloads", app.payloadsCmd},
		}},
		{Title: "Charmhub", Verbs: []Verb{
			{"find", hub.findCmd},
			{"info", hub.infoCmd},
			{"download", hub.downloadCmd},
			{"charm-resources list-charm-resources", hub.charmResourcesCmd},
		}},
		{Title: "Relations", Verbs: []Verb{
			{"integrate relate", relation.integrateCmd},
			{"remove-relation", relation.removeRelationCmd},
			{"suspend-relation", relation.suspendRelationCmd},
			{"resume-relation", relation.resumeRelationCmd},
		}},
		{Title: "Relations across models", Verbs: []Verb{
			{"offer", offer.offerCmd},
			{"offers list-offers", offer.offersCmd},
			{"show-offer", offer.showOfferCmd},
			{"find-offers", offer.findOffersCmd},
			{"remove-offer", offer.removeOfferCmd},
			{"consume", relation.consumeCmd},
			{"remove-saas", relation.removeSAASCmd},
		}},
		{Title: "Secrets", Verbs: []Verb{
			{"add-secret", secret.addSecretCmd},
			{"update-secret", secret.updateSecretCmd},
			{"remove-secret", secret.removeSecretCmd},
			{"grant-secret", secret.grantSecretCmd},
			{"revoke-secret", secret.revokeSecretCmd},
			{"secrets list-secrets", secret.secretsCmd},
			{"show-secret", secret.showSecretCmd},
			{"rotate-secret-key", secret.rotateSecretKeyCmd},
		}},
		{Title: "Actions and commands", Verbs: []Verb{
			{"run", task.runCmd},
			{"exec", task.execCmd},
			{"show-task", task.showTaskCmd},
			{"cancel-task", task.cancelTaskCmd},
			{"operations list-operations", task.operationsCmd},
			{"show-operation", task.showOperationCmd},
			{"actions list-actions", task.actionsCmd},
			{"show-action", task.showActionCmd},
		}},
		{Title: InsideTitle, Verbs: []Verb{
			{"debug-hooks debug-hook", inside.debugHooksCmd},
			{"debug-code", inside.debugCodeCmd},
			{"debug-window", inside.debugWindowCmd},
		}},
		{Title: "What there is, and why", Verbs: []Verb{
			{"status", status.statusCmd},
			{"show-unit", status.showUnitCmd},
			{"show-application", status.showApplicationCmd},
			{"show-status-log", status.showStatusLogCmd},
			{"wait", wait.waitCmd},
			{"wait-for", wait.waitForCmd},
			{"why", status.whyCmd},
			{"ui", status.uiCmd},
			{"top", status.topCmd},
			{"debug-log", status.debugLogCmd},
			{"history", status.historyCmd},
			{"changes", status.changesCmd},
			{"rules", status.rulesCmd},
		}},
		{Title: "Storage", Verbs: []Verb{
			{"storage list-storage", storage.storageCmd},
			{"show-storage", storage.showStorageCmd},
			{"add-storage", storage.addStorageCmd},
			{"attach-storage", storage.attachStorageCmd},
			{"detach-storage", storage.detachStorageCmd},
			{"remove-storage", storage.removeStorageCmd},
			{"storage-pools list-storage-pools", storage.storagePoolsCmd},
			{"create-storage-pool", storage.createStoragePoolCmd},
		}},
		{Title: "Machines", Verbs: []Verb{
			{"add-machine", machine.addMachineCmd},
			{"remove-machine", machine.removeMachineCmd},
			{"machines list-machines", machine.machinesCmd},
			{"show-machine", machine.showMachineCmd},
			{"base", baseVerbs(machine).baseCmd},
			{"doctor", caches.doctorCmd},
		}},
		{Title: "Spaces", Verbs: []Verb{
			{"spaces list-spaces", space.spacesCmd},
			{"show-space", space.showSpaceCmd},
			{"add-space", space.addSpaceCmd},
			{"reload-spaces", space.reloadSpacesCmd},
			{"subnets list-subnets", space.subnetsCmd},
			{"bind", space.bindCmd},
		}},
		{Title: "Models and their store", Verbs: []Verb{
			{"add-model", model.addModelCmd},
			{"destroy-model", model.destroyModelCmd},
			{"models list-models", model.modelsCmd},
			{"model", model.modelCmd},
			{"switch", model.switchCmd},
			{"show-model", model.showModelCmd},
			{"model-config", model.modelConfigCmd},
			{"model-constraints", limits.modelConstraintsCmd},
			{"set-model-constraints", limits.setModelConstraintsCmd},
			{"add-ssh-key", keys.addSSHKeyCmd},
			{"remove-ssh-key", keys.removeSSHKeyCmd},
			{"ssh-keys list-ssh-keys", keys.sshKeysCmd},
			{"backup", backups.backupCmd},
			{"restore", backups.restoreCmd},
			{"store", store.storeCmd},
			{"store-user", store.storeUserCmd},
			{"cache", caches.cacheCmd},
		}},
		{Title: "Controllers, clouds and users", Verbs: []Verb{
			{"controllers list-controllers", control.controllersCmd},
			{"show-controller", control.showControllerCmd},
			{"whoami", control.whoamiCmd},
			{"users list-users", control.usersCmd},
			{"bootstrap", control.bootstrapCmd},
			{"destroy-controller", control.destroyControllerCmd},
			{"kill-controller", control.killControllerCmd},
			{"controller-config", control.controllerConfigCmd},
			{"model-defaults model-default", control.modelDefaultsCmd},
			{"clouds list-clouds", clouds.cloudsCmd},
			{"show-cloud", clouds.showCloudCmd},
			{"add-cloud", clouds.addCloudCmd},
			{"update-cloud", clouds.updateCloudCmd},
			{"remove-cloud", clouds.removeCloudCmd},
			{"credentials list-credentials", clouds.credentialsCmd},
			{"add-credential", clouds.addCredentialCmd},
		}},
		{Title: ofAgent, Verbs: []Verb{
			{"agent", agent.agentCmd},
			{"debug-agent", agent.debugAgentCmd},
			{"shutdown", agent.shutdownCmd},
			{"service", agent.serviceCmd},
			{"completion", agent.completionCmd},
			{"version", agent.versionCmd},
			{"bench", measure.benchCmd},
			{"juju-shim", agent.jujuShimCmd},
			{"manual", agent.manualCmd},
			{"lab", agent.labCmd},
			{benchAgent, measure.benchAgentCmd},
		}},
	}, Groups(inside.insideDoors())...)
}
