package agent

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/juju/errors"
)

// StableSelf is this program at a path that stays: what "go run" has built is
// removed when it ends, so that is copied into the data directory first.
func StableSelf(dir string) (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", errors.Annotate(err, "cannot find this program")
	}
	if !strings.Contains(self, string(filepath.Separator)+"go-build") {
		return self, nil
	}
	b, err := os.ReadFile(self)
	if err != nil {
		return "", errors.Annotate(err, "cannot read this program")
	}
	sum := sha256.Sum256(b)
	bin := filepath.Join(dir, "bin", hex.EncodeToString(sum[:6]))
	path := filepath.Join(bin, "unitd")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(bin, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot keep this program")
	}
	temp := fmt.Sprintf("%s.%d", path, os.Getpid())
	if err := os.WriteFile(temp, b, 0o700); err != nil {
		return "", errors.Annotate(err, "cannot keep this program")
	}
	return path, errors.Annotate(os.Rename(temp, path), "cannot keep this program")
}

// ToolClient is the program that hook tool names are linked to: the small
// client beside unitd, else unitd itself.
func ToolClient(dir string) (string, error) {
	self, err := StableSelf(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	for _, name := range []string{"unitd-hooktool", "hooktool"} {
		path := filepath.Join(filepath.Dir(self), name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return self, nil
}

// fastClient is the client in C beside unitd, where there is one that runs here;
// empty: there is none. What says nothing that it should is none: it may have
// been built for another machine.
func fastClient(dir string) (string, error) {
	self, err := StableSelf(dir)
	if err != nil {
		return "", errors.Trace(err)
	}
	path := filepath.Join(filepath.Dir(self), "unitd-hooktool-c")
	if st, err := os.Stat(path); err != nil || !st.Mode().IsRegular() {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, path)
	cmd.Env = []string{}
	if out, _ := cmd.CombinedOutput(); string(out) != "ERROR JUJU_CONTEXT_ID not set\n" {
		return "", nil
	}
	return path, nil
}
