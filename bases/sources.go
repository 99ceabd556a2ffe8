package bases

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// suites are the names that debootstrap has for bases.
var suites = map[model.Base]string{
	{Name: "debian", Channel: "11"}: "bullseye", {Name: "debian", Channel: "12"}: "bookworm", {Name: "debian", Channel: "13"}: "trixie",
	{Name: "ubuntu", Channel: "20.04"}: "focal", {Name: "ubuntu", Channel: "22.04"}: "jammy", {Name: "ubuntu", Channel: "24.04"}: "noble",
}

// packages are what a base has beside the least that there is: what machines and charms
// look for. Source: docs/spec/machine-isolation.md §6.
const packages = "systemd,systemd-sysv,dbus,python3,sudo,lsb-release,iproute2,netbase,ca-certificates,procps"

// Fetched says where a base is fetched from.
type Fetched struct {
	// Mirror is the archive; empty is debootstrap's own. Proxy is for HTTP, now and in the
	// base; empty is the environment's now, and none in the base.
	Mirror, Proxy string
	// Progress gets what debootstrap prints.
	Progress io.Writer
}

// Fetch makes a base by debootstrap. The errors are NotSupported where the host hasn't
// that, or it doesn't know the base; AlreadyExists; Forbidden for who isn't root.
func (s Store) Fetch(ctx context.Context, name string, from Fetched) (Base, error) {
	base, err := model.ParseBase(name)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	suite, known := suites[base]
	if !known {
		return Base{}, errors.NewNotSupported(nil, fmt.Sprintf("base %s can't be fetched: add it from a directory or a tarball (unitd base add %s FILE)", base, base))
	}
	if _, err := exec.LookPath("debootstrap"); err != nil {
		return Base{}, errors.NewNotSupported(nil, "debootstrap is needed to fetch a base: install it, or add a base from a directory or a tarball (unitd base add)")
	}
	source := "debootstrap " + suite
	if from.Mirror != "" {
		source += " from " + from.Mirror
	}
	return s.make(ctx, name, source, func(root string) error {
		args := []string{"--variant=minbase", "--include=" + packages, suite, root}
		if base.Name == "ubuntu" {
			args = append([]string{"--components=main,universe"}, args...)
		}
		if from.Mirror != "" {
			args = append(args, from.Mirror)
		}
		cmd := exec.CommandContext(ctx, "debootstrap", args...)
		cmd.Env = os.Environ()
		if from.Proxy != "" {
			cmd.Env = append(cmd.Env, "http_proxy="+from.Proxy)
		}
		if err := ran(cmd, from.Progress); err != nil {
			return errors.Trace(err)
		}
		if from.Proxy == "" {
			return nil
		}
		text := fmt.Sprintf("Acquire::http::Proxy %q;\n", from.Proxy)
		return errors.Trace(os.WriteFile(filepath.Join(root, "etc/apt/apt.conf.d/90unitd-proxy"), []byte(text), 0o644))
	})
}

// Add makes a base of a directory, which is copied, or of a tarball that tar can read. The
// errors are NotFound; AlreadyExists; Forbidden for who isn't root.
func (s Store) Add(ctx context.Context, name, from string) (Base, error) {
	abs, err := filepath.Abs(from)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	st, err := os.Stat(abs)
	if os.IsNotExist(err) {
		return Base{}, errors.NewNotFound(nil, fmt.Sprintf("there is no %s", from))
	}
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	return s.make(ctx, name, abs, func(root string) error {
		cmd := exec.CommandContext(ctx, "tar", "-xp", "--numeric-owner", "--xattrs", "--xattrs-include=*", "-f", abs, "-C", root)
		if st.IsDir() {
			cmd = exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", abs+"/.", root)
		}
		return errors.Trace(ran(cmd, nil))
	})
}

// ran runs a program. The error has the last line that it has printed.
func ran(cmd *exec.Cmd, progress io.Writer) error {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if progress != nil {
		cmd.Stdout = io.MultiWriter(&said, progress)
		cmd.Stderr = cmd.Stdout
	}
	err := cmd.Run()
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return errors.Annotatef(err, "%s says %q", filepath.Base(cmd.Path), lines[len(lines)-1])
}
