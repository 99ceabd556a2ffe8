package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

// Tool is one row of the table of hook tools.
type Tool struct {
	// Name is the command's name, and that of the file that has its code.
	Name string
	// Args are the arguments as help writes them; RelationArgs, if not empty,
	// those in a relation hook, where more of them have a default.
	Args, RelationArgs string
	// Summary is one line, Details are some.
	Summary, Details string
	// KeyValues says that the arguments are key=value; the values are nobody's
	// business but the charm's and are left out of Calls.
	KeyValues bool

	make func(*hookcontext.Context) command
}

// command is one call of a tool, in the order of its methods.
type command interface {
	// declare says which flags there are.
	declare(*flags)
	// parse takes the arguments that are no flags. An error is the caller's
	// mistake: exit code 2.
	parse(args []string) error
	// run does it. An error is exit code 1.
	run(*call) error
}

// Table is all hook tools, in the order of the manual.
func Table() []Tool {
	return []Tool{
		relationIDsTool(),
		relationListTool(),
		relationGetTool(),
		relationSetTool(),
		relationModelGetTool(),
		configGetTool(),
		stateGetTool(),
		stateSetTool(),
		stateDeleteTool(),
		isLeaderTool(),
		leaderGetTool(),
		leaderSetTool(),
		statusGetTool(),
		statusSetTool(),
		applicationVersionSetTool(),
		networkGetTool(),
		openPortTool(),
		closePortTool(),
		openedPortsTool(),
		unitGetTool(),
		goalStateTool(),
		storageListTool(),
		storageGetTool(),
		storageAddTool(),
		resourceGetTool(),
		secretAddTool(),
		secretSetTool(),
		secretGetTool(),
		secretInfoGetTool(),
		secretIDsTool(),
		secretRemoveTool(),
		secretGrantTool(),
		secretRevokeTool(),
		credentialGetTool(),
		payloadRegisterTool(),
		payloadUnregisterTool(),
		payloadStatusSetTool(),
		addMetricTool(),
		k8sSpecSetTool(),
		k8sSpecGetTool(),
		podSpecSetTool(),
		podSpecGetTool(),
		k8sRawSetTool(),
		k8sRawGetTool(),
		actionGetTool(),
		actionSetTool(),
		actionFailTool(),
		actionLogTool(),
		jujuLogTool(),
		jujuRebootTool(),
		unitdRequeueTool(),
		unitdFailTool(),
		unitdBatchTool(),
	}
}

func find(name string) (Tool, bool) {
	for _, t := range Table() {
		if t.Name == name {
			return t, true
		}
	}
	return Tool{}, false
}
