package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/machine"
)

// Shown is what the agent of the data directory shows of its models, as Show has it in
// its process, for a command that would else open the store itself. ok is false where
// the command has to: there is no agent, it works on another store, or isn't this very
// program, or it can't or doesn't answer.
func (h *Host) Shown(what string) (out, notes []byte, ok bool) {
	if _, inLab, err := LabTime(); err != nil || inLab || h.away {
		return nil, nil, false
	}
	dir, err := DataDir()
	if err != nil || CheckPrivate(dir) != nil || !h.worksAsItsAgent(dir) {
		return nil, nil, false
	}
	pid, err := Running()
	if err != nil || pid == 0 || !isThisProgram(pid) {
		return nil, nil, false
	}
	out, notes, err = machine.AskToShow(h.ctx, dir, what)
	if errors.Is(err, machine.ErrSilent) {
		h.waited = true // whether it is silent, or its store, its word says
	}
	return out, notes, err == nil
}

// worksAsItsAgent says whether this command would work on the store of the agent of the
// data directory, as the same user: nobody names another one.
func (h *Host) worksAsItsAgent(dir string) bool {
	if h.StoreFlag != "" || slices.ContainsFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, etcdVariables) }) {
		return false
	}
	name, err := h.StoreName()
	if err != nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join(dir, agentStoreFile))
	return err == nil && strings.TrimSpace(string(b)) == name
}

// etcdVariables is what the names of variables begin with that say as whom, and how, to
// reach a store in etcd.
const etcdVariables = "UNITD_ETCD_"

// isThisProgram says whether a process runs the same file as this one. After an upgrade
// an agent does not, and what it shows may differ. Where nobody can tell it doesn't.
func isThisProgram(pid int) bool {
	theirs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	own, err := os.Stat("/proc/self/exe")
	return err == nil && os.SameFile(own, theirs)
}
