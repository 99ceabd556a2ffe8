package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// planted is a release of programs that are this test's own, or no programs at all.
func planted(t *testing.T, unitd []byte) release {
	t.Helper()
	dir := t.TempDir()
	put := func(name string, data []byte) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range []string{"linux/amd64", "darwin/arm64"} {
		put("programs/"+p+"/unitd", unitd)
		put("programs/"+p+"/unitd-hooktool", unitd)
	}
	put("programs/linux/amd64/unitd-hooktool-c", []byte("in C"))
	for _, text := range []string{"man/man1/unitd.1", "bash-completion/completions/unitd", "zsh/site-functions/_unitd", "fish/vendor_completions.d/unitd.fish"} {
		put("texts/share/"+text, []byte(text))
	}
	put("LICENSE", []byte("licence"))
	return release{"1.2.0-rc.1", filepath.Join(dir, "programs"), filepath.Join(dir, "texts"), filepath.Join(dir, "LICENSE"), gzip.NoCompression}
}

func ownProgram(t *testing.T) []byte {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTheSameProgramsGiveTheSameBytes(t *testing.T) {
	t.Parallel()
	r := planted(t, ownProgram(t))
	one, two := t.TempDir(), t.TempDir()
	for _, dir := range []string{one, two} {
		if err := r.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	files, err := os.ReadDir(one)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		names = append(names, f.Name())
		a, errA := os.ReadFile(filepath.Join(one, f.Name()))
		b, errB := os.ReadFile(filepath.Join(two, f.Name()))
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs: %v, %v", f.Name(), errA, errB)
		}
	}
	want := []string{"SHA256SUMS", "unitd-1.2.0-rc.1-darwin-arm64.spdx.json", "unitd-1.2.0-rc.1-darwin-arm64.tar.gz",
		"unitd-1.2.0-rc.1-linux-amd64.docker.tar", "unitd-1.2.0-rc.1-linux-amd64.spdx.json", "unitd-1.2.0-rc.1-linux-amd64.tar.gz", "unitd_1.2.0~rc.1_amd64.deb"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
	checkSums(t, one, len(want)-1)
	checkSBOM(t, filepath.Join(one, "unitd-1.2.0-rc.1-linux-amd64.spdx.json"))
}

// checkSums compares the files with the checksums beside them.
func checkSums(t *testing.T, dir string, files int) {
	t.Helper()
	sums, err := os.ReadFile(filepath.Join(dir, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(sums)), "\n")
	if len(lines) != files {
		t.Errorf("%d checksums of %d files", len(lines), files)
	}
	for _, line := range lines {
		sum, name, _ := strings.Cut(line, "  ")
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || fmt.Sprintf("%x", sha256.Sum256(data)) != sum {
			t.Errorf("%s isn't what its checksum says: %v", name, err)
		}
	}
}

// checkSBOM looks whether all that a list refers to is in it, Go itself too.
func checkSBOM(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		SPDXVersion   string
		Packages      []struct{ SPDXID, Name, VersionInfo string }
		Relationships []struct{ RelatedSpdxElement string }
	}
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, p := range doc.Packages {
		ids[p.SPDXID] = true
		if p.Name == "" || p.VersionInfo == "" {
			t.Errorf("%+v has no name or version", p)
		}
	}
	if doc.SPDXVersion != "SPDX-2.3" || !slices.ContainsFunc(doc.Packages, func(p struct{ SPDXID, Name, VersionInfo string }) bool { return p.Name == "std" }) {
		t.Errorf("Go isn't in %s", data)
	}
	for _, r := range doc.Relationships {
		if !ids[r.RelatedSpdxElement] {
			t.Errorf("%s isn't there", r.RelatedSpdxElement)
		}
	}
}

func TestWhatIsMissingIsSaid(t *testing.T) {
	t.Parallel()
	whole := planted(t, ownProgram(t))
	for _, c := range []struct {
		name, want string
		change     func(*release)
	}{
		{"a version", "-version", func(r *release) { r.version = "" }},
		{"programs", "no programs in", func(r *release) { r.programs = t.TempDir() }},
		{"the manual", "no share/man/man1/*", func(r *release) { r.texts = t.TempDir() }},
		{"the licence", "no such file", func(r *release) { r.licence = "none" }},
	} {
		r := whole
		c.change(&r)
		if err := r.write(t.TempDir()); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("without %s: got %v", c.name, err)
		}
	}
	if err := planted(t, []byte("no program")).write(t.TempDir()); err == nil {
		t.Error("a list was made of what is no program")
	}
}

// TestHostWhatIsMadeInstallsIntoAnEmptyRoot makes all for three platforms. What is for
// this one is installed into empty directories, each a program's whole root, and runs
// there, the image in a container of unitd's; what is for the others is looked at.
func TestHostWhatIsMadeInstallsIntoAnEmptyRoot(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root of Linux has programs run in another root")
	}
	out, here, other := t.TempDir(), runtime.GOOS+"/"+runtime.GOARCH, "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	cmd := exec.Command("make", "-s", "-C", "../..", "dist", "VERSION=1.2.0", "DIST="+out, "DIST_PLATFORMS="+here+" linux/"+other+" darwin/arm64")
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	base := filepath.Join(out, "unitd-1.2.0-"+runtime.GOOS+"-"+runtime.GOARCH)
	checkSums(t, out, 10)
	checkSBOM(t, base+".spdx.json")

	t.Run("the archive", func(t *testing.T) {
		root := t.TempDir()
		unpack(t, root, gunzip(t, base+".tar.gz"))
		runs(t, root, "/"+filepath.Base(base)+"/bin/unitd")
	})
	t.Run("the Debian package", func(t *testing.T) {
		needsDpkg(t)
		root := t.TempDir()
		for _, dir := range []string{"info", "updates"} {
			if err := os.MkdirAll(filepath.Join(root, "var/lib/dpkg", dir), 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(root, "var/lib/dpkg/status"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		deb := filepath.Join(out, "unitd_1.2.0_"+runtime.GOARCH+".deb")
		if text, err := exec.Command("dpkg", "--root="+root, "--force-not-root", "-i", deb).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		runs(t, root, "/usr/bin/unitd")
		for _, name := range []string{"usr/lib/systemd/system/unitd.service", "usr/lib/systemd/system/unitd@.service", "usr/lib/systemd/system/unitd-ui.service", "usr/lib/systemd/system/unitd-ui.socket", "usr/share/man/man1/unitd-deploy.1", "usr/share/bash-completion/completions/unitd"} {
			if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Mode().Perm() != 0o644 {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
	t.Run("the image", func(t *testing.T) {
		root := t.TempDir()
		unpack(t, root, gunzip(t, base+".tar.gz"))
		unitd := filepath.Join(root, filepath.Base(base), "bin/unitd")
		if text := inContainer(t, unitd, base+".docker.tar", "unitd", "--version"); text != "unitd 1.2.0\n" {
			t.Errorf("it prints %q", text)
		}
	})
	t.Run("the archive and the package for another processor", func(t *testing.T) {
		root := t.TempDir()
		name := "unitd-1.2.0-linux-" + other
		unpack(t, root, gunzip(t, filepath.Join(out, name+".tar.gz")))
		needsDpkg(t)
		if text, err := exec.Command("dpkg-deb", "-x", filepath.Join(out, "unitd_1.2.0_"+other+".deb"), root).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		want := map[string]elf.Machine{"amd64": elf.EM_X86_64, "arm64": elf.EM_AARCH64}[other]
		for _, path := range []string{name + "/bin/unitd", name + "/bin/unitd-hooktool", "usr/bin/unitd", "usr/bin/unitd-hooktool"} {
			f, err := elf.Open(filepath.Join(root, path))
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if f.Machine != want || f.Type != elf.ET_EXEC {
				t.Errorf("%s: %v, %v", path, f.Machine, f.Type)
			}
		}
	})
	t.Run("the archive for a Mac", func(t *testing.T) {
		root := t.TempDir()
		unpack(t, root, gunzip(t, filepath.Join(out, "unitd-1.2.0-darwin-arm64.tar.gz")))
		for _, name := range []string{"unitd", "unitd-hooktool"} {
			path := filepath.Join(root, "unitd-1.2.0-darwin-arm64/bin", name)
			f, err := macho.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if info, err := os.Stat(path); f.Cpu != macho.CpuArm64 || f.Type != macho.TypeExec || err != nil || info.Mode().Perm() != 0o755 {
				t.Errorf("%s: processor %v, type %v, %v", name, f.Cpu, f.Type, err)
			}
		}
	})
}

// needsDpkg skips a test where there is none. In CI there is.
func needsDpkg(t *testing.T) {
	t.Helper()
	_, err := exec.LookPath("dpkg")
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI has to install Debian packages: %v", err)
	}
	t.Skip(err)
}

// runs runs the program with that directory as its root, and nothing else in it.
func runs(t *testing.T, root, program string) {
	t.Helper()
	f, err := elf.Open(filepath.Join(root, program))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Errorf("%s needs %q: %v", program, libraries, err)
	}
	cmd := exec.Command(program, "--version")
	inRoot(cmd, root)
	if text, err := cmd.CombinedOutput(); err != nil || string(text) != "unitd 1.2.0\n" {
		t.Errorf("%v: %s", err, text)
	}
}

func gunzip(t *testing.T, path string) io.Reader {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// unpack unpacks folders and files with their modes.
func unpack(t *testing.T, dir string, r io.Reader) {
	t.Helper()
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, filepath.Clean("/"+h.Name))
		if h.Typeflag == tar.TypeDir {
			err = os.MkdirAll(path, 0o755)
		} else {
			var data []byte
			if data, err = io.ReadAll(in); err == nil {
				err = os.WriteFile(path, data, os.FileMode(h.Mode).Perm())
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
