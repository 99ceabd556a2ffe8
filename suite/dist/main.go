// Command dist writes what people install, from programs that are built: for each
// platform an archive and a list of what is in the programs (SBOM); for Linux a Debian
// package and a container image; and checksums of all of them.
//
// "make dist" builds the programs and calls it. It needs no network, no registry and no
// other program. The same programs and version give the same bytes.
package main

import (
	"compress/gzip"
	"crypto/sha256"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	r := release{level: gzip.BestCompression}
	out := flag.String("out", "", "the directory for what is written")
	flag.StringVar(&r.version, "version", "", "as 1.2.0, 1.2.0-rc.1 or 0.0.0-dev+COMMIT")
	flag.StringVar(&r.programs, "programs", "", "the directory with the programs, in OS/ARCHITECTURE")
	flag.StringVar(&r.texts, "texts", "", "the directory with manual pages and completion, as unitd manual writes them")
	flag.StringVar(&r.licence, "licence", "", "the file of the licence")
	flag.Parse()
	if err := r.write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "ERROR", err)
		os.Exit(1)
	}
}

// release is what things to install are made from.
type release struct {
	version, programs, texts, licence string
	level                             int // of compression
}

// platform is what programs are built for.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// platforms are those that there are programs for, sorted.
func (r release) platforms() ([]platform, error) {
	dirs, err := filepath.Glob(filepath.Join(r.programs, "*", "*"))
	if err != nil || len(dirs) == 0 {
		return nil, fmt.Errorf("no programs in %q: %w", r.programs, err)
	}
	var out []platform
	for _, dir := range dirs {
		out = append(out, platform{filepath.Base(filepath.Dir(dir)), filepath.Base(dir)})
	}
	return out, nil
}

// write writes all into the directory, and checksums of it at last.
func (r release) write(out string) error {
	if r.version == "" || out == "" {
		return fmt.Errorf("-version and -out are needed")
	}
	platforms, err := r.platforms()
	if err != nil {
		return err
	}
	made := map[string][]byte{}
	for _, p := range platforms {
		if err := r.make(p, made); err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
	}
	var sums strings.Builder
	var names []string
	for name := range made {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(made[name]), name)
	}
	made["SHA256SUMS"] = []byte(sums.String())
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	for name, data := range made {
		if err := os.WriteFile(filepath.Join(out, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// make makes what there is for one platform, by the names of the files.
func (r release) make(p platform, made map[string][]byte) error {
	programs, err := r.read(p)
	if err != nil {
		return err
	}
	texts, err := r.readTexts()
	if err != nil {
		return err
	}
	name := fmt.Sprintf("unitd-%s-%s", r.version, p)
	if made[name+".tar.gz"], err = r.archive(append(under(name+"/bin", programs), under(name, texts)...)); err != nil {
		return err
	}
	if made[name+".spdx.json"], err = r.sbom(p, programs); err != nil || p.os != "linux" {
		return err
	}
	if made[fmt.Sprintf("unitd_%s_%s.deb", debianVersion(r.version), p.arch)], err = r.deb(p, programs, texts); err != nil {
		return err
	}
	made[name+".docker.tar"], err = r.image(p, programs)
	return err
}

// file is one file of an archive: its path, what is in it, and whether it is a program.
type file struct {
	name    string
	data    []byte
	program bool
}

func under(dir string, files []file) []file {
	out := slices.Clone(files)
	for i := range out {
		out[i].name = dir + "/" + out[i].name
	}
	return out
}

// read are the programs of a platform.
func (r release) read(p platform) ([]file, error) {
	var out []file
	for _, name := range []string{"unitd", "unitd-hooktool", "unitd-hooktool-c"} {
		data, err := os.ReadFile(filepath.Join(r.programs, p.os, p.arch, name))
		if os.IsNotExist(err) && name == "unitd-hooktool-c" {
			continue // there was no compiler for that platform
		}
		if err != nil {
			return nil, err
		}
		out = append(out, file{name, data, true})
	}
	return out, nil
}

// readTexts are the licence, the manual and the completion, below a prefix.
func (r release) readTexts() ([]file, error) {
	licence, err := os.ReadFile(r.licence)
	if err != nil {
		return nil, err
	}
	out := []file{{name: "share/doc/unitd/copyright", data: licence}}
	root := os.DirFS(r.texts)
	for _, pattern := range []string{"share/man/man1/*", "share/bash-completion/completions/*", "share/zsh/site-functions/*", "share/fish/vendor_completions.d/*"} {
		names, err := filepath.Glob(filepath.Join(r.texts, pattern))
		if err != nil || len(names) == 0 {
			return nil, fmt.Errorf("no %s in %q: %w", pattern, r.texts, err)
		}
		for _, name := range names {
			rel, err := filepath.Rel(r.texts, name)
			if err != nil {
				return nil, err
			}
			data, err := fs.ReadFile(root, filepath.ToSlash(rel))
			if err != nil {
				return nil, err
			}
			out = append(out, file{name: filepath.ToSlash(rel), data: data})
		}
	}
	return out, nil
}
