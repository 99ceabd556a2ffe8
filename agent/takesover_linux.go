package agent

import (
	"context"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/unitd/unitd/machine"
)

// ownFormVariable has a program say what it hands over, whoever asks.
const ownFormVariable = "UNITD_OWN_FORM"

// TakesOver is what this program tells an agent that asks what it can take over: the form in which
// that agent hands over, if it can take that over, else its own. Agents want to hear their own
// form, and say which that is only if they are asked in turn, by "agent --takes-over".
func TakesOver(ctx context.Context) string {
	own := machine.HandoverForm()
	if os.Getenv(ownFormVariable) != "" {
		return own
	}
	parent := fmt.Sprintf("/proc/%d", os.Getppid())
	st, err := os.Stat(parent)
	if err != nil || st.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
		return own // an agent asks as itself: nobody else's program is run
	}
	asker := parent + "/exe" // leads to the file even where it has been replaced
	this, thisErr := buildinfo.ReadFile("/proc/self/exe")
	that, err := buildinfo.ReadFile(asker)
	if err != nil || thisErr != nil || that.Path != this.Path {
		return own // no agent asks, and whatever else it is isn't to be run
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime/2)
	defer cancel()
	cmd := exec.CommandContext(ctx, asker, "agent", "--takes-over")
	cmd.Env = []string{"HOME=" + os.Getenv("HOME"), ownFormVariable + "=1"}
	out, err := cmd.Output()
	if form := strings.TrimSpace(string(out)); err == nil && machine.TakesOver(form) {
		return form
	}
	return own
}
