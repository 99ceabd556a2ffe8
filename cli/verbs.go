package cli

import (
	"github.com/spf13/cobra"
)

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
		agent    = agentVerbs{b}
	)
	return append([]Group{
		{Title: "Charms to try and to test", Verbs: []func() *cobra.Command{
			up.upCmd, watch.watchCmd, test.initCmd, test.testCmd, test.packCmd, test.recordCmd, test.replayCmd, test.worldCmd,
		}},
		{Title: "Applications and units", Verbs: []func() *cobra.Command{
			charm.deployCmd, charm.exportBundleCmd, charm.diffBundleCmd, charm.refreshCmd, charm.setApplicationBaseCmd, charm.rollbackCmd, unit.addUnitCmd, unit.removeUnitCmd, unit.removeApplicationCmd,
			unit.scaleApplicationCmd, app.configCmd, limits.constraintsCmd, limits.setConstraintsCmd, unit.trustCmd, app.exposeCmd, app.unexposeCmd, unit.resolvedCmd,
			charm.attachResourceCmd, charm.resourcesCmd, app.payloadsCmd,
		}},
		{Title: "Charmhub", Verbs: []func() *cobra.Command{
			hub.findCmd, hub.infoCmd, hub.downloadCmd, hub.charmResourcesCmd,
		}},
		{Title: "Relations", Verbs: []func() *cobra.Command{
			relation.integrateCmd, relation.removeRelationCmd, relation.suspendRelationCmd, relation.resumeRelationCmd,
		}},
		{Title: "Relations across models", Verbs: []func() *cobra.Command{
			offer.offerCmd, offer.offersCmd, offer.showOfferCmd, offer.findOffersCmd, offer.removeOfferCmd,
			relation.consumeCmd, relation.removeSAASCmd,
		}},
		{Title: "Secrets", Verbs: []func() *cobra.Command{
			secret.addSecretCmd, secret.updateSecretCmd, secret.removeSecretCmd, secret.grantSecretCmd, secret.revokeSecretCmd,
			secret.secretsCmd, secret.showSecretCmd, secret.rotateSecretKeyCmd,
		}},
		{Title: "Actions and commands", Verbs: []func() *cobra.Command{
			task.runCmd, task.execCmd, task.showTaskCmd, task.cancelTaskCmd, task.operationsCmd, task.showOperationCmd,
			task.actionsCmd, task.showActionCmd,
		}},
		{Title: InsideTitle, Verbs: []func() *cobra.Command{
			inside.debugHooksCmd, inside.debugCodeCmd, inside.debugWindowCmd,
		}},
		{Title: "What there is, and why", Verbs: []func() *cobra.Command{
			status.statusCmd, status.showUnitCmd, status.showApplicationCmd, status.showStatusLogCmd, wait.waitCmd, wait.waitForCmd,
			status.whyCmd, status.debugLogCmd, status.historyCmd, status.rulesCmd,
		}},
		{Title: "Storage", Verbs: []func() *cobra.Command{
			storage.storageCmd, storage.showStorageCmd, storage.addStorageCmd, storage.attachStorageCmd, storage.detachStorageCmd,
			storage.removeStorageCmd, storage.storagePoolsCmd, storage.createStoragePoolCmd,
		}},
		{Title: "Machines", Verbs: []func() *cobra.Command{
			machine.addMachineCmd, machine.removeMachineCmd, machine.machinesCmd, machine.showMachineCmd,
		}},
		{Title: "Spaces", Verbs: []func() *cobra.Command{
			space.spacesCmd, space.showSpaceCmd, space.addSpaceCmd, space.reloadSpacesCmd, space.subnetsCmd, space.bindCmd,
		}},
		{Title: "Models and their store", Verbs: []func() *cobra.Command{
			model.addModelCmd, model.destroyModelCmd, model.modelsCmd, model.modelCmd, model.switchCmd, model.showModelCmd,
			model.modelConfigCmd, limits.modelConstraintsCmd, limits.setModelConstraintsCmd,
			keys.addSSHKeyCmd, keys.removeSSHKeyCmd, keys.sshKeysCmd, store.storeCmd, store.storeUserCmd, caches.cacheCmd,
		}},
		{Title: "Controllers, clouds and users", Verbs: []func() *cobra.Command{
			control.controllersCmd, control.showControllerCmd, control.whoamiCmd, control.usersCmd,
			control.bootstrapCmd, control.destroyControllerCmd, control.killControllerCmd, control.controllerConfigCmd,
			control.modelDefaultsCmd, clouds.cloudsCmd, clouds.showCloudCmd, clouds.addCloudCmd, clouds.updateCloudCmd,
			clouds.removeCloudCmd, clouds.credentialsCmd, clouds.addCredentialCmd,
		}},
		{Title: ofAgent, Verbs: []func() *cobra.Command{
			agent.agentCmd, agent.debugAgentCmd, agent.shutdownCmd, agent.completionCmd, agent.versionCmd, agent.jujuShimCmd, agent.manualCmd, agent.labCmd,
		}},
	}, Groups(inside.insideDoors())...)
}
