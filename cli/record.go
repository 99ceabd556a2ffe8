package cli

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/juju/errors"
	"github.com/spf13/cobra"

	"github.com/unitd/unitd/history"
	"github.com/unitd/unitd/machine"
	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/recording"
	"github.com/unitd/unitd/state"
)

func (a testVerbs) recordCmd() *cobra.Command {
	var failed bool
	var output string
	cmd := &cobra.Command{
		Use:   "record UNIT [RUN]",
		Short: "Write the recording of a hook run to a file, to replay it elsewhere",
		Long: `Write what was recorded of a run of a unit's hook: its environment, each hook
tool call with its answer, and, if "unitd config APPLICATION unitd-record-pebble=true"
was set, what the hook asked of Pebble in workload containers. "unitd replay" runs
the hook of a charm against it, on any machine, without the model.

It is the newest run, unless the number of another one is given, or --failed. The
newest hundred of each unit are kept, also when the unit has gone. Values of keys
that look like secrets (password, token …) are replaced by redacted-1, redacted-2
…; still look the file over before you give it away.`,
		Example:           "  unitd record ledger/0 --failed -o failed.txtar\n  unitd record ledger/0 7",
		Args:              Args(1, 2, "no unit specified"),
		ValidArgsFunction: a.completeRecordings,
		RunE: func(_ *cobra.Command, args []string) error {
			if failed && len(args) == 2 {
				return Usagef("specify either a run or --failed, not both")
			}
			return a.record(args, failed, output)
		},
	}
	cmd.Flags().BoolVar(&failed, "failed", false, "the newest run that has failed")
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file")
	return cmd
}

func (a testVerbs) record(args []string, failed bool, output string) error {
	names, err := unitNames(args[:1])
	if err != nil {
		return err
	}
	unit, run := names[0], int64(0)
	if len(args) == 2 {
		if run, err = strconv.ParseInt(args[1], 10, 64); err != nil || run < 1 {
			return Usagef("%q is not the number of a run", args[1])
		}
	}
	m, err := a.model()
	if err != nil {
		return err
	}
	where, err := a.asked(m, names, ofRecordings)
	if err != nil {
		return err
	}
	defer where.end()
	r, err := recorded(m, where, unit, run, failed)
	if err != nil {
		return err
	}
	r = recording.Redact(r, func(value string) bool {
		named, err := m.IsName(a.Context(), unit.Application(), value)
		return named && err == nil
	})
	b, err := r.Format()
	if err != nil {
		return err
	}
	if r.StateNote != "" {
		a.Note("The stored state of the charm (%s) was %s.", recording.StateFile, r.StateNote)
	}
	if r.CutOff {
		a.Note("The run had more hook tool calls than the first %d that were recorded.", len(r.Calls))
	}
	a.notePebbles(r)
	if output == "" {
		a.printf("%s", b)
		return nil
	}
	return errors.Annotate(os.WriteFile(output, b, 0o600), "cannot write the recording")
}

// recorded is the recording of a run of a unit: of that number, or the newest
// that has failed, or the newest.
func recorded(m *state.Model, where places, unit model.UnitName, run int64, failed bool) (*recording.Recording, error) {
	refs, err := recordings(m, where, unit)
	if err != nil {
		return nil, err
	}
	for _, ref := range refs {
		if run != 0 && ref.Run != run {
			continue
		}
		r, err := ref.Read()
		switch {
		case err == nil && (!failed || r.Outcome == history.Failed):
			return r, nil
		case err != nil && run != 0:
			return nil, err
		}
	}
	return nil, notRecorded(m, where, unit, run, failed, refs)
}

func recordings(m *state.Model, where places, unit model.UnitName) (all []recording.Ref, err error) {
	for _, dir := range where.dirs {
		refs, err := recording.List(machine.RecordingsDir(dir, m.UUID()), unit)
		if err != nil {
			return nil, err
		}
		all = append(refs, all...) // those of the host that it is on now are newer
	}
	return all, nil
}

// notRecorded says why there is no such recording.
func notRecorded(m *state.Model, where places, unit model.UnitName, run int64, failed bool, refs []recording.Ref) error {
	var runs []history.Entry
	for _, dir := range where.dirs {
		own, err := history.Read(machine.HistoryDir(dir, m.UUID()), unit)
		if err != nil {
			return err
		}
		runs = append(runs, own...)
	}
	missing := false
	for _, e := range runs {
		missing = e.Missing && e.Run == run || missing && e.Run != run
	}
	what := ""
	switch {
	case len(runs) == 0:
		what = fmt.Sprintf("unit %q has run no hook in model %q", unit, m.Name())
	case missing:
		what = fmt.Sprintf("run %d of %s was not recorded: the charm has no such hook", run, unit)
	case len(refs) == 0:
		what = fmt.Sprintf("no hook run of %s was recorded", unit)
	case failed:
		what = fmt.Sprintf("none of the recorded runs of %s has failed", unit)
	default:
		what = fmt.Sprintf("there is no recording of run %d of %s; there are those of %s", run, unit, runsOf(refs))
	}
	return errors.NewNotFound(nil, what)
}

// runsOf are the numbers of runs, the newest first.
func runsOf(refs []recording.Ref) string {
	const most = 10
	var numbers []string
	for _, ref := range refs[:min(most, len(refs))] {
		numbers = append(numbers, strconv.FormatInt(ref.Run, 10))
	}
	if len(refs) > most {
		numbers = append(numbers, "…")
	}
	return strings.Join(numbers, ", ")
}

// completeRecordings completes a unit and then the numbers of its recorded runs.
func (f *focus) completeRecordings(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	s := f.completing()
	switch {
	case len(args) == 0:
		return completeWith(unitNamesOf(s), args, word, 0)
	case len(args) > 1 || s.Model.Name == "":
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	unit, err := model.ParseUnitName(args[0])
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	here, err := onThisHost()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	refs, err := recordings(f.Opened().Open(s.Model), here, unit)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var runs []string
	for _, ref := range refs {
		runs = append(runs, strconv.FormatInt(ref.Run, 10))
	}
	return completeWith(runs, nil, word, cobra.ShellCompDirectiveKeepOrder)
}
