package bases

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
	"github.com/unitd/unitd/oci"
)

// ImagePrefix is the beginning of what Add takes for an image, and for no file: what
// follows is what package oci takes.
const ImagePrefix = "image:"

// Fetch makes a base from what its distribution publishes: by debootstrap, or of an image.
// Where nothing is said, debootstrap is taken if the host has it, and it knows the base.
// The errors are NotSupported where neither can be had; AlreadyExists; Forbidden for who
// isn't root.
func (s Store) Fetch(ctx context.Context, name string, how How) (Base, error) {
	base, err := model.ParseBase(name)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	_, err = exec.LookPath(string(Debootstrap))
	r, err := choose(base, how.From, err == nil)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	r.Asked = how.Asked
	b, err := s.make(ctx, name, r, how, false)
	if r.Kind == Image && how.From == "" && errors.Is(err, errNoImage) {
		return b, errors.NewNotSupported(nil, fmt.Sprintf("%v; and debootstrap isn't installed: install it, or add the base from a file (unitd base add %s FILE)", err, base))
	}
	return b, errors.Trace(err)
}

// choose is what a base is fetched from: what is asked for, else debootstrap if it can be.
// The error is NotSupported.
func choose(base model.Base, from Kind, has bool) (Recipe, error) {
	suite, image := suites[base], official(base)
	switch {
	case suite == "" && image == "":
		return Recipe{}, errors.NewNotSupported(nil, fmt.Sprintf("base %s can't be fetched: add it from an image, a directory or a tarball (unitd base add %s FILE)", base, base))
	case from == Debootstrap && suite == "":
		return Recipe{}, errors.NewNotSupported(nil, fmt.Sprintf("base %s can't be fetched by debootstrap: try --from=image", base))
	case from == Debootstrap && !has:
		return Recipe{}, errors.NewNotSupported(nil, "debootstrap isn't installed: install it, or try --from=image")
	case from != Image && suite != "" && has:
		return Recipe{Kind: Debootstrap, From: suite}, nil
	}
	return Recipe{Kind: Image, From: image}, nil
}

// Add makes a base of a directory, which is copied; of a tarball that tar can read; or, if
// from begins with ImagePrefix or with the prefix of a kind of package oci, of an image. The
// errors are NotFound; NotValid; AlreadyExists; Forbidden for who isn't root.
func (s Store) Add(ctx context.Context, name, from string, how How) (Base, error) {
	r, err := added(from)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	r.Asked = how.Asked
	b, err := s.make(ctx, name, r, how, false)
	return b, errors.Trace(err)
}

// added is what a base is made from that somebody names.
func added(from string) (Recipe, error) {
	text, is := strings.CutPrefix(from, ImagePrefix)
	ref, err := oci.Parse(text)
	switch {
	case is && err != nil:
		return Recipe{}, errors.Trace(err)
	case is && ref.Directory():
		return Recipe{}, errors.NewNotValid(nil, fmt.Sprintf("%s is no image: name the directory itself", text))
	case is || err == nil && ref.Kind != oci.Registry && ref.Kind != oci.File && !ref.Directory():
		if ref.Path != "" {
			if ref.Path, err = filepath.Abs(ref.Path); err != nil {
				return Recipe{}, errors.Trace(err)
			}
		}
		return Recipe{Kind: Image, From: ref.String()}, nil
	}
	abs, err := filepath.Abs(from)
	if err != nil {
		return Recipe{}, errors.Trace(err)
	}
	_, err = os.Stat(abs)
	if os.IsNotExist(err) {
		hint := ""
		if _, err := oci.Parse(from); err == nil {
			hint = fmt.Sprintf("; an image of a registry is named %s%s", ImagePrefix, from)
		}
		return Recipe{}, errors.NewNotFound(nil, fmt.Sprintf("there is no %s%s", from, hint))
	}
	return Recipe{Kind: File, From: abs}, errors.Trace(err)
}

// Update makes another version of a base, from what it was made from. What is asked for
// takes the place of what was asked for before. The former version stays. The errors are
// those of Add, and NotFound where there is no such base.
func (s Store) Update(ctx context.Context, name string, how How) (Base, error) {
	was, err := s.newest(name)
	if err != nil {
		return Base{}, errors.Trace(err)
	}
	r := was.Recipe
	if r.Kind == File {
		if _, err := os.Stat(r.From); err != nil {
			return Base{}, errors.NewNotFound(nil, fmt.Sprintf("base %s was made from %s, which isn't there any more: unitd base remove %s, and add it from another place", name, r.From, name))
		}
	}
	r.Asked = r.Asked.with(how.Asked)
	b, err := s.make(ctx, name, r, how, true)
	return b, errors.Trace(err)
}

// fill fills the root, and says the digest of what it is from; empty: that of its packages
// is to be taken.
func (w *work) fill(ctx context.Context) (digest string, err error) {
	switch w.recipe.Kind {
	case Debootstrap:
		return "", errors.Trace(w.bootstrap(ctx))
	case Image:
		digest, err = w.unpack(ctx)
		return digest, errors.Trace(err)
	}
	digest, err = w.copy(ctx)
	return digest, errors.Trace(err)
}

func (w *work) bootstrap(ctx context.Context) error {
	args := []string{"--variant=minbase", "--include=" + strings.Join(packages, ","), w.recipe.From, w.root()}
	if strings.HasPrefix(w.name, "ubuntu@") {
		args = append([]string{"--components=main,universe"}, args...)
	}
	if w.settings.mirror != "" {
		args = append(args, w.settings.mirror)
	}
	cmd := exec.CommandContext(ctx, string(Debootstrap), args...)
	cmd.Env = append(os.Environ(), w.settings.environment()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what it has started ends with it
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	return errors.Trace(ran(cmd, w.how.Progress))
}

// copy fills the root from a directory or a tarball.
func (w *work) copy(ctx context.Context) (digest string, err error) {
	from := w.recipe.From
	st, err := os.Stat(from)
	if err != nil {
		return "", errors.Trace(err)
	}
	cmd := exec.CommandContext(ctx, "cp", "-a", "--reflink=auto", from+"/.", w.root())
	if !st.IsDir() {
		if digest, err = fileDigest(from); err != nil {
			return "", errors.Trace(err)
		}
		cmd = exec.CommandContext(ctx, "tar", append(extract, "-f", from, "-C", w.root())...)
	}
	if err := ran(cmd, nil); err != nil {
		return "", errors.Trace(err)
	}
	for _, name := range []string{"oci-layout", "manifest.json"} {
		if _, err := os.Lstat(filepath.Join(w.root(), name)); err == nil {
			return "", errors.NewNotValid(nil, fmt.Sprintf("%s has an image in it: name it %s%s", from, ImagePrefix, from))
		}
	}
	return digest, nil
}

// extract are the arguments by which tar puts all there as it was.
var extract = []string{"-xp", "--numeric-owner", "--xattrs", "--xattrs-include=*"}

func fileDigest(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", errors.Trace(err)
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return "", errors.Trace(err)
	}
	return "sha256:" + hex.EncodeToString(sum.Sum(nil)), nil
}

// packagesDigest is that of the list of a root's packages; empty: it has none.
func packagesDigest(path string) (string, error) {
	status, err := statusOf(path)
	if status == "" || err != nil {
		return "", errors.Trace(err)
	}
	sum := sha256.Sum256([]byte(status))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// statusOf is dpkg's list of a root's packages; empty: it has none.
func statusOf(path string) (string, error) {
	root, err := os.OpenRoot(path) // its links are its own
	if err != nil {
		return "", errors.Trace(err)
	}
	defer root.Close()
	text, err := root.ReadFile("var/lib/dpkg/status")
	if os.IsNotExist(err) {
		return "", nil
	}
	return string(text), errors.Trace(err)
}

// ran runs a program. The error has the last line that it has printed.
func ran(cmd *exec.Cmd, progress io.Writer) error {
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if progress != nil {
		cmd.Stdout = io.MultiWriter(&said, progress)
		cmd.Stderr = cmd.Stdout
	}
	return explain(cmd.Run(), filepath.Base(cmd.Path), said.String())
}

// explain has an error say which program has failed, and the last line that it has printed.
func explain(err error, program, said string) error {
	if err == nil {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(said), "\n")
	return errors.Annotatef(err, "%s says %q", program, lines[len(lines)-1])
}
