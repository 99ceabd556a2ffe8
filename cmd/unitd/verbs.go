package main

import (
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/cli"
)

// ofAgent is the group of the verbs that are about the program itself.
const ofAgent = "Agent and program"

// groups are all verbs, as help shows them.
func (a *app) groups() []cli.Group {
	return append([]cli.Group{
		{Title: "Charms to try and to test", Verbs: []func() *cobra.Command{
			a.upCmd, a.watchCmd, a.testCmd, a.packCmd, a.recordCmd, a.replayCmd,
		}},
		{Title: "Applications and units", Verbs: []func() *cobra.Command{
			a.deployCmd, a.refreshCmd, a.rollbackCmd, a.addUnitCmd, a.removeUnitCmd, a.removeApplicationCmd,
			a.scaleApplicationCmd, a.configCmd, a.trustCmd, a.exposeCmd, a.unexposeCmd, a.resolvedCmd,
			a.attachResourceCmd, a.resourcesCmd, a.payloadsCmd,
		}},
		{Title: "Relations", Verbs: []func() *cobra.Command{
			a.integrateCmd, a.removeRelationCmd, a.suspendRelationCmd, a.resumeRelationCmd,
		}},
		{Title: "Secrets", Verbs: []func() *cobra.Command{
			a.addSecretCmd, a.updateSecretCmd, a.removeSecretCmd, a.grantSecretCmd, a.revokeSecretCmd, a.secretsCmd,
			a.showSecretCmd, a.rotateSecretKeyCmd,
		}},
		{Title: "Actions and commands", Verbs: []func() *cobra.Command{
			a.runCmd, a.execCmd, a.showTaskCmd, a.cancelTaskCmd, a.operationsCmd, a.showOperationCmd, a.actionsCmd,
			a.showActionCmd,
		}},
		{Title: cli.InsideTitle, Verbs: []func() *cobra.Command{
			a.debugHooksCmd, a.debugCodeCmd, a.debugWindowCmd,
		}},
		{Title: "What there is, and why", Verbs: []func() *cobra.Command{
			a.statusCmd, a.showUnitCmd, a.showApplicationCmd, a.showStatusLogCmd, a.waitCmd, a.whyCmd, a.debugLogCmd,
			a.historyCmd, a.rulesCmd,
		}},
		{Title: "Storage", Verbs: []func() *cobra.Command{
			a.storageCmd, a.showStorageCmd, a.addStorageCmd, a.attachStorageCmd, a.detachStorageCmd,
			a.removeStorageCmd, a.storagePoolsCmd, a.createStoragePoolCmd,
		}},
		{Title: "Machines", Verbs: []func() *cobra.Command{
			a.addMachineCmd, a.removeMachineCmd, a.machinesCmd, a.showMachineCmd,
		}},
		{Title: "Models and their store", Verbs: []func() *cobra.Command{
			a.addModelCmd, a.destroyModelCmd, a.modelsCmd, a.modelCmd, a.switchCmd, a.showModelCmd, a.modelConfigCmd,
			a.storeCmd, a.storeUserCmd, a.cacheCmd,
		}},
		{Title: ofAgent, Verbs: []func() *cobra.Command{
			a.agentCmd, a.debugAgentCmd, a.shutdownCmd, a.completionCmd, a.versionCmd, a.labCmd,
		}},
	}, cli.Groups(a.insideDoors())...)
}
