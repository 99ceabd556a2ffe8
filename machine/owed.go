package machine

import "github.com/unitd/unitd/state"

// without is what is left to be told of what is wanted, once that was told: what has come in its place
// since, and what has passed since.
func without(wanted, told state.Report) state.Report {
	wanted.Passed = wanted.Passed[min(len(told.Passed), len(wanted.Passed)):]
	if wanted.Agent == told.Agent {
		wanted.Agent = nil
	}
	if wanted.Workload == told.Workload {
		wanted.Workload, wanted.UnlessCharm = nil, false
	}
	if wanted.Failed == told.Failed {
		wanted.Failed = nil
	}
	if wanted.Containers == told.Containers {
		wanted.Containers = nil
	}
	return wanted
}
