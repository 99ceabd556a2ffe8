// Package action has the scripts that the steps of action.yml run, the action of this
// repository for workflows on GitHub. Its Go part is tests alone: they run the steps as
// a runner does, and have actionlint look at the action and at all workflows.
//
//	plan.sh       where unitd comes from
//	build.sh      the wheel, from the action's own sources
//	install.sh    the programs, on the PATH
//	scenarios.sh  unitd test, with its report
//	pytest.sh     pytest, with its report
//	kept.sh       what was fetched, which the next run is to have
//	common.sh     what they share
package action
