package oci

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/juju/errors"
)

const aDigest = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestReferences(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Reference{
		"host":                            {Kind: Host},
		"rootfs:/srv/root":                {Kind: RootFS, Path: "/srv/root"},
		"rootfs:a:b":                      {Kind: RootFS, Path: "a:b"},
		"docker-archive:x.tar":            {Kind: DockerArchive, Path: "x.tar"},
		"oci-archive:/a/x.rock":           {Kind: OCIArchive, Path: "/a/x.rock"},
		"oci-layout:dir":                  {Kind: OCILayout, Path: "dir"},
		"oci-layout:a@b":                  {Kind: OCILayout, Path: "a@b"},
		"oci-layout:dir@" + aDigest:       {Kind: OCILayout, Path: "dir", Digest: aDigest},
		"docker-daemon:app:1":             {Kind: DockerDaemon, Name: "app:1"},
		"docker-daemon:" + aDigest:        {Kind: DockerDaemon, Name: aDigest},
		"my.rock":                         {Kind: File, Path: "my.rock"},
		"a/b.tar":                         {Kind: File, Path: "a/b.tar"},
		"./image":                         {Kind: File, Path: "./image"},
		"/srv/image":                      {Kind: File, Path: "/srv/image"},
		"ubuntu":                          {Kind: Registry, Name: "ubuntu"},
		"ubuntu:22.04":                    {Kind: Registry, Name: "ubuntu:22.04"},
		"ghcr.io/a/b_c:v1":                {Kind: Registry, Name: "ghcr.io/a/b_c:v1"},
		"localhost:32000/a":               {Kind: Registry, Name: "localhost:32000/a"},
		"[::1]:5000/a/b":                  {Kind: Registry, Name: "[::1]:5000/a/b"},
		"a/b@" + aDigest:                  {Kind: Registry, Name: "a/b@" + aDigest},
		"registry.example/a:1@" + aDigest: {Kind: Registry, Name: "registry.example/a:1@" + aDigest},
	} {
		got, err := Parse(text)
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v, want %+v", text, got, err, want)
		}
		if got.String() != text {
			t.Errorf("%s is written as %s", text, got)
		}
	}
}

// K-009, and what else nobody can mean.
func TestReferencesThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "::", ":", "a:", "a::b", "a b", "A", "a/B", "a//b", "-a", "a-", "a/../b", "..", "http://a/b", "a@sha256:1", "a@" + aDigest + "0",
		"docker-archive:", "rootfs:", "docker-daemon:", "docker-daemon:A b", "a\x00b", "rootfs:a\nb", "x/y:z w",
	} {
		got, err := Parse(text)
		if !errors.Is(err, errors.NotValid) || !strings.HasPrefix(err.Error(), "filepath or registry path: ") || !strings.Contains(err.Error(), " not valid") {
			t.Errorf("%q: got %+v, %v", text, got, err)
		}
	}
	if _, err := Parse("::"); err == nil || err.Error() != "filepath or registry path: :: not valid" {
		t.Errorf("K-009: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{"host", "ubuntu:22.04", "oci-layout:a@" + aDigest, "a/b@" + aDigest, "::", "docker-daemon:x", "./a.tar", "[::1]:5000/a"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := Parse(s)
		if err != nil {
			if !errors.Is(err, errors.NotValid) || strings.ContainsAny(err.Error(), "\n\x00\x1b") {
				t.Fatalf("%q: %v", s, err)
			}
			return
		}
		again, err := Parse(got.String())
		if err != nil || again != got {
			t.Fatalf("%q is %+v, which is %+v, %v", s, got, again, err)
		}
	})
}

func TestDetailsOfImages(t *testing.T) {
	t.Parallel()
	want := Source{Reference: Reference{Kind: Registry, Name: "reg.example/app:1"}, Username: "u", Password: "p:1"}
	for _, text := range []string{
		"registrypath: reg.example/app:1\nusername: u\npassword: 'p:1'\n",
		"registrypath: &a reg.example/app:1\nusername: u\npassword: p:1\nauth: {x: [*a]}\n",
		`{"ImageName": "reg.example/app:1", "username": "u", "password": "p:1", "email": null}`,
		`{"registrypath":"reg.example/app:1","Username":"u","Password":"p:1"}`,
	} {
		got, err := ParseDetails([]byte(text))
		if err != nil || got != want {
			t.Errorf("%s: got %+v, %v", text, got.Reference, err)
		}
	}
	if s, err := ParseDetails([]byte("registrypath: a\npassword: 0123\n")); err != nil || s.Password != "0123" {
		t.Errorf("a password of digits: %v", err)
	}
	for text, want := range map[string]string{
		"":                            errDetails,
		"hello":                       errDetails,
		"- a":                         errDetails,
		"username: u":                 errDetails,
		"registrypath: [a]":           "registrypath: expected a word",
		"registrypath: '::'":          `docker image path "::" not valid`,
		`{"registrypath": "a",`:       "json parsing: ",
		"a: &a [x]\nb: [*a, *a]\nc: ": errDetails,
	} {
		_, err := ParseDetails([]byte(text))
		if !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %s", text, err, want)
		}
	}
}

func TestAPasswordIsntPrinted(t *testing.T) {
	t.Parallel()
	s := Source{Reference: Reference{Kind: Registry, Name: "a"}, Password: "hunter2"}
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := errors.Errorf(format, s).Error(); strings.Contains(got, "hunter2") {
			t.Errorf("%s prints %s", format, got)
		}
	}
}

// K-008: a file first, then a reference.
func TestValuesOfResources(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := func(name, content string) string {
		path := filepath.Join(dir, name)
		must(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	layer := string(tarOf(t, file("a", "x")))
	tarred, zipped := at("image", layer), at("zipped", string(gzipOf(t, []byte(layer))))
	for value, want := range map[string]Source{
		at("a.yaml", "registrypath: a:1\nusername: u\npassword: p\n"): {Reference: Reference{Kind: Registry, Name: "a:1"}, Username: "u", Password: "p"},
		tarred:        {Reference: Reference{Kind: File, Path: tarred}},
		zipped:        {Reference: Reference{Kind: File, Path: zipped}},
		"ubuntu:22":   {Reference: Reference{Kind: Registry, Name: "ubuntu:22"}},
		"host":        {Reference: Reference{Kind: Host}},
		dir:           {Reference: Reference{Kind: File, Path: dir}},
		"rootfs:/srv": {Reference: Reference{Kind: RootFS, Path: "/srv"}},
	} {
		got, err := ReadSource(value)
		if err != nil || got != want {
			t.Errorf("%s: got %s, %v", value, got, err)
		}
	}
	for value, want := range map[string]string{
		"::":                                "filepath or registry path: :: not valid",
		dir + "/none.yaml":                  "filepath or registry path: " + dir + "/none.yaml not valid",
		at("b.yaml", "hello"):               errDetails,
		at("c.yaml", "registrypath: A B"):   `docker image path "A B" not valid`,
		at("d", strings.Repeat("x", 2<<20)): errDetails,
		"/dev/null":                         "isn't a file",
	} {
		_, err := ReadSource(value)
		if !errors.Is(err, errors.NotValid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %s", value, err, want)
		}
	}
}
