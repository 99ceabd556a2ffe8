package bases

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
)

// normalise makes a root a base: nothing in it is of the system that it was taken from, and
// what charms look for is there. The error says what it lacks.
func normalise(path string) error {
	root, err := os.OpenRoot(path) // its links are its own
	if err != nil {
		return errors.Trace(err)
	}
	defer root.Close()
	if err := whole(root); err != nil {
		return errors.Trace(err)
	}
	if err := uncontain(root); err != nil {
		return errors.Trace(err)
	}
	gone := []string{
		policy, // packages start services
		"var/lib/dbus/machine-id", "etc/hostname",
	}
	if debs, err := fs.Glob(root.FS(), "var/cache/apt/archives/*.deb"); err == nil {
		gone = append(gone, debs...)
	}
	for _, name := range gone {
		if err := root.Remove(name); err != nil && !os.IsNotExist(err) {
			return errors.Trace(err)
		}
	}
	if err := root.WriteFile("etc/machine-id", nil, 0o444); err != nil {
		return errors.Trace(err)
	}
	if err := makeUbuntu(root); err != nil {
		return errors.Trace(err)
	}
	if _, err := root.Lstat("usr/bin/cloud-init"); os.IsNotExist(err) {
		return errors.Trace(root.WriteFile("usr/bin/cloud-init", []byte(cloudInit), 0o755))
	}
	return nil
}

// plainFiles removes what is neither a file, a directory nor a link: whoever opens a device
// of a root is at the host's, and whoever opens a pipe waits.
func plainFiles(root string) error {
	return errors.Trace(filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type().IsRegular() || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Remove(path)
	}))
}

// policy keeps packages from starting services.
const policy = "usr/sbin/policy-rc.d"

// uncontain takes away what images of containers tell apt and dpkg, to be small.
func uncontain(root *os.Root) error {
	for _, pattern := range []string{"etc/apt/apt.conf.d/docker-*", "etc/dpkg/dpkg.cfg.d/docker*", "etc/dpkg/dpkg.cfg.d/excludes", ".dockerenv"} {
		names, err := fs.Glob(root.FS(), pattern)
		if err != nil {
			return errors.Trace(err)
		}
		for _, name := range names {
			if err := root.Remove(name); err != nil {
				return errors.Trace(err)
			}
		}
	}
	return nil
}

// cloudInit answers charms that wait for the first boot's set-up, of which there is none.
const cloudInit = "#!/bin/sh\n# This machine was made whole: there is nothing to wait for.\n[ \"$1\" = status ] && echo 'status: done'\n"

// whole looks whether a root can be a machine's.
func whole(root *os.Root) error {
	for _, one := range []struct{ path, lacks string }{
		{"etc/os-release", "it is no system: it has no /etc/os-release"},
		{"usr/lib/systemd/systemd", "it has no systemd: it needs the packages systemd-sysv and dbus"},
	} {
		_, err := root.Stat(one.path)
		if os.IsNotExist(err) {
			_, err = root.Stat(strings.TrimPrefix(one.path, "usr/"))
		}
		if err != nil {
			return errors.NewNotValid(nil, one.lacks)
		}
	}
	return nil
}

// ubuntu is the user that images of clouds have, whom charms and people look for.
const (
	ubuntu   = "ubuntu"
	ubuntuID = 1000
)

// makeUbuntu has that user there, who may become root without a password.
func makeUbuntu(root *os.Root) error {
	has, err := root.ReadFile("etc/passwd")
	if err != nil {
		return errors.Trace(err)
	}
	if !strings.Contains("\n"+string(has), "\n"+ubuntu+":") { // some images of containers have it
		if err := addUbuntu(root); err != nil {
			return errors.Trace(err)
		}
	}
	if err := root.MkdirAll("etc/sudoers.d", 0o750); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(root.WriteFile("etc/sudoers.d/90-unitd-ubuntu", []byte(ubuntu+" ALL=(ALL) NOPASSWD:ALL\n"), 0o440))
}

// addUbuntu has the user be known.
func addUbuntu(root *os.Root) error {
	for path, line := range map[string]string{
		"etc/passwd":  fmt.Sprintf("%s:x:%d:%d::/home/%s:/bin/bash\n", ubuntu, ubuntuID, ubuntuID, ubuntu),
		"etc/group":   fmt.Sprintf("%s:x:%d:\n", ubuntu, ubuntuID),
		"etc/shadow":  ubuntu + ":!:19000:0:99999:7:::\n",
		"etc/gshadow": ubuntu + ":!::\n",
	} {
		f, err := root.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
		if os.IsNotExist(err) {
			continue // a system without shadows
		}
		if err != nil {
			return errors.Trace(err)
		}
		_, err = f.WriteString(line)
		if closed := f.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return errors.Trace(err)
		}
	}
	if err := root.MkdirAll("home/"+ubuntu, 0o755); err != nil {
		return errors.Trace(err)
	}
	return errors.Trace(root.Chown("home/"+ubuntu, ubuntuID, ubuntuID))
}
