// Package python_test proves what the folder python makes: the package for PyPI.
package python_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"debug/elf"
	"debug/macho"
	"encoding/base64"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/unitd/unitd/testcharms"
)

func TestMain(m *testing.M) {
	code := m.Run()
	testcharms.RemovePrograms()
	os.Exit(code)
}

// run runs a command and returns what it prints.
func run(t *testing.T, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", strings.Join(cmd.Args, " "), err, out)
	}
	return string(out)
}

// needsPython skips a test where there is no Python 3.11 with such modules. In CI there is.
func needsPython(t *testing.T, modules string) {
	t.Helper()
	if exec.Command("python3", "-c", "import "+modules).Run() == nil {
		return
	}
	what := "Python 3.11 with the modules " + modules
	if os.Getenv("CI") == "true" {
		t.Fatalf("CI has to make and install wheels: install %s", what)
	}
	t.Skipf("skipped: there is no %s", what)
}

// made is a wheel of a platform, with programs that are in a directory.
func made(t *testing.T, platform, version, programs string) string {
	t.Helper()
	out := run(t, nil, "python3", "wheel.py", "--platform", platform, "--version", version, "--programs", programs, "--out", t.TempDir())
	return strings.TrimSpace(out)
}

// entries are the files of a wheel, each of which RECORD has to have with its digest.
func entries(t *testing.T, wheel string) map[string][]byte {
	t.Helper()
	archive, err := zip.OpenReader(wheel)
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	files := map[string][]byte{}
	var record string
	for _, f := range archive.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		files[f.Name] = data
		want := os.FileMode(0o644)
		if strings.Contains(f.Name, ".data/scripts/") {
			want = 0o755
		}
		if f.Mode() != want {
			t.Errorf("%s has mode %v, want %v", f.Name, f.Mode(), want)
		}
		if strings.HasSuffix(f.Name, ".dist-info/RECORD") {
			record = string(data)
		}
	}
	for name, data := range files {
		sum := sha256.Sum256(data)
		line := fmt.Sprintf("%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(data))
		if strings.HasSuffix(name, "/RECORD") {
			line = name + ",,\n"
		}
		if !strings.Contains(record, line) {
			t.Errorf("RECORD hasn't %q", line)
		}
	}
	return files
}

// TestAWheelOfEachPlatform says by its name and by itself where it can be installed,
// and the same is made of the same.
func TestAWheelOfEachPlatform(t *testing.T) {
	t.Parallel()
	needsPython(t, "tomllib")
	programs := t.TempDir()
	for _, name := range []string{"unitd", "unitd-hooktool", "unitd-hooktool-c"} {
		if err := os.WriteFile(filepath.Join(programs, name), []byte(name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct{ platform, version, name, tag string }{
		{"linux/amd64", "1.2.0", "unitd-1.2.0-py3-none-manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64.whl", "py3-none-musllinux_1_1_x86_64"},
		{"linux/arm64", "1.2.0-rc.1", "unitd-1.2.0rc1-py3-none-manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64.whl", "py3-none-manylinux2014_aarch64"},
		{"darwin/amd64", "0.0.0-dev+0123abc", "unitd-0.0.0.dev0+g0123abc-py3-none-macosx_12_0_x86_64.whl", "py3-none-macosx_12_0_x86_64"},
		{"darwin/arm64", "1.2.0-beta.2", "unitd-1.2.0b2-py3-none-macosx_12_0_arm64.whl", "py3-none-macosx_12_0_arm64"},
	} {
		t.Run(test.platform, func(t *testing.T) {
			t.Parallel()
			wheel := made(t, test.platform, test.version, programs)
			if filepath.Base(wheel) != test.name {
				t.Errorf("it is called %s, want %s", filepath.Base(wheel), test.name)
			}
			files := entries(t, wheel)
			version := strings.Split(test.name, "-")[1]
			for name, want := range map[string]string{
				"unitd-" + version + ".data/scripts/unitd":            "unitd",
				"unitd-" + version + ".dist-info/METADATA":            "\nVersion: " + version + "\n",
				"unitd-" + version + ".dist-info/WHEEL":               "\nTag: " + test.tag + "\n",
				"unitd-" + version + ".dist-info/entry_points.txt":    "[pytest11]\nunitd = ",
				"unitd/_version.py":                                   `__version__ = "` + version + `"`,
				"unitd/py.typed":                                      "",
				"unitd-" + version + ".dist-info/licenses/LICENSE":    "Apache License",
				"unitd-" + version + ".data/scripts/unitd-hooktool":   "unitd-hooktool",
				"unitd-" + version + ".data/scripts/unitd-hooktool-c": "unitd-hooktool-c",
			} {
				if data, ok := files[name]; !ok || !strings.Contains(string(data), want) {
					t.Errorf("%s is %q, want it to have %q", name, data, want)
				}
			}
			one, err := os.ReadFile(wheel)
			if err != nil {
				t.Fatal(err)
			}
			if two, err := os.ReadFile(made(t, test.platform, test.version, programs)); err != nil || !bytes.Equal(one, two) {
				t.Errorf("made again it is another one (%v)", err)
			}
		})
	}
}

// TestHostTheWheelIsInstalled in an environment with nothing else, by pip and without
// an index; the programs run from there, and find each other.
func TestHostTheWheelIsInstalled(t *testing.T) {
	t.Parallel()
	needsPython(t, "tomllib, venv, ensurepip")
	programs, err := testcharms.Programs()
	if err != nil {
		t.Fatal(err)
	}
	platform := runtime.GOOS + "/" + runtime.GOARCH
	wheel := made(t, platform, "0.0.0-dev+0123abc", programs)
	venv := filepath.Join(t.TempDir(), "venv")
	run(t, nil, "python3", "-m", "venv", venv)
	bin := filepath.Join(venv, "bin")
	run(t, nil, filepath.Join(bin, "python"), "-m", "pip", "install", "--quiet", "--no-index", "--disable-pip-version-check", wheel)

	env := []string{"PATH=" + bin + ":/usr/bin:/bin", "UNITD_BIN=", "UNITD_DATA=" + t.TempDir(), "UNITD_ISOLATE=off"}
	want := run(t, env, filepath.Join(bin, "unitd"), "version")
	if have := run(t, env, filepath.Join(bin, "python"), "-P", "-m", "unitd", "version"); have != want || want == "" {
		t.Errorf("python -m unitd version prints %q, unitd version %q", have, want)
	}
	if have := run(t, env, filepath.Join(bin, "python"), "-P", "-c", "import unitd; print(unitd.__version__, unitd.find_unitd_bin())"); have != "0.0.0.dev0+g0123abc "+filepath.Join(bin, "unitd")+"\n" {
		t.Errorf("the package has %q", have)
	}
	t.Run("the plugin", func(t *testing.T) {
		_, packages := clients(t) // what the extra asks for
		dir := t.TempDir()
		with := append(slices.Clone(env), "PYTHONPATH="+packages)
		if out := run(t, with, filepath.Join(bin, "python"), "-P", "-m", "pytest", "--rootdir", dir, "--markers", dir); !strings.Contains(out, "@pytest.mark.unitd(") {
			t.Errorf("pytest hasn't found it by itself: %s", out)
		}
	})
	charm, err := filepath.Abs("../testcharms/ledger")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "first.txtar")
	if err := os.WriteFile(file, []byte("deploy "+charm+"\nsettle\nstatus ledger\nstdout active\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if out := run(t, env, filepath.Join(bin, "unitd"), "test", file); !strings.Contains(out, "1 passed, 0 failed") {
		t.Errorf("unitd test prints %s", out)
	}
}

// TestHostWheelsHaveTheProgramsOfTheirPlatforms as "make wheel" builds them, linked
// without a C library, so that musl's does as well. Those of other hosts are looked at:
// two of them, and with UNITD_TEST_LONG all four.
func TestHostWheelsHaveTheProgramsOfTheirPlatforms(t *testing.T) {
	t.Parallel()
	needsPython(t, "tomllib")
	platforms := []string{"linux/arm64", "darwin/arm64"}
	if os.Getenv("UNITD_TEST_LONG") != "" {
		platforms = append(platforms, "linux/amd64", "darwin/amd64")
	}
	dir := t.TempDir()
	run(t, nil, "make", "-s", "-C", "..", "wheel", "WHEELS="+dir, "WHEEL_PLATFORMS="+strings.Join(platforms, " "))
	wheels, err := filepath.Glob(filepath.Join(dir, "*.whl"))
	if err != nil || len(wheels) != len(platforms) {
		t.Fatalf("there are %v (%v), want those of %v", wheels, err, platforms)
	}
	for _, wheel := range wheels {
		programs := 0
		for name, data := range entries(t, wheel) {
			if !strings.Contains(name, ".data/scripts/") {
				continue
			}
			programs++
			if err := isFor(data, filepath.Base(wheel)); err != nil {
				t.Errorf("%s: %s: %v", filepath.Base(wheel), name, err)
			}
		}
		if programs < 2 {
			t.Errorf("%s has %d programs", filepath.Base(wheel), programs)
		}
	}
}

// isFor says whether a program is one for the platform that a wheel's name has.
func isFor(program []byte, wheel string) error {
	if strings.Contains(wheel, "macosx") {
		f, err := macho.NewFile(bytes.NewReader(program))
		if err != nil {
			return err
		}
		if want := map[bool]macho.Cpu{true: macho.CpuArm64, false: macho.CpuAmd64}[strings.HasSuffix(wheel, "_arm64.whl")]; f.Cpu != want {
			return fmt.Errorf("it is for %v, want %v", f.Cpu, want)
		}
		return nil
	}
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		return err
	}
	if want := map[bool]elf.Machine{true: elf.EM_AARCH64, false: elf.EM_X86_64}[strings.HasSuffix(wheel, "_aarch64.whl")]; f.Machine != want {
		return fmt.Errorf("it is for %v, want %v", f.Machine, want)
	}
	if slices.ContainsFunc(f.Progs, func(p *elf.Prog) bool { return p.Type == elf.PT_INTERP }) {
		return fmt.Errorf("it needs a C library")
	}
	return nil
}
