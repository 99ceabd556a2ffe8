package script

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/unitd/unitd/script/lab"
	"github.com/unitd/unitd/script/memory"
	"github.com/unitd/unitd/workload"
)

// agentEnvironment is what the agent of a world is given beside the environment of who runs the
// script; work is the script's directory.
func (e *engine) agentEnvironment(w *world, home, work string) []string {
	closed := ""
	if e.Closed {
		closed = "yes"
	}
	env := []string{
		"UNITD_DATA=" + w.dir, "HOME=" + home, "TZ=UTC", secretKeyVariable + "=", secretKeyVariable + "_COMMAND=",
		lab.StoreVariable + "=" + w.url, lab.SharedVariable + "=" + work, lab.SeedVariable + "=" + e.Machine, lab.ClosedVariable + "=" + closed,
	}
	if len(e.Environment) > 0 {
		env = append(env, lab.EnvironmentVariable+"="+strings.ReplaceAll(strings.Join(e.Environment, "\n"), "$WORK", work))
	}
	if e.memory != "" {
		env = append(env, memory.DirVariable+"="+e.memory, memory.WayVariable+"="+w.name, fmt.Sprintf("%s=%d", memory.SeedVariable, e.Seed))
	}
	if e.Pebble != "" {
		env = append(env, workload.PebbleVariable+"="+e.Pebble)
	}
	return env
}

// makeExecutable gives the scripts among a script's files their x bits, which
// the txtar form doesn't have.
func makeExecutable(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		head := make([]byte, 2)
		_, err = io.ReadFull(f, head)
		f.Close()
		if err == nil && string(head) == "#!" {
			return os.Chmod(path, 0o755)
		}
		return nil
	})
}
