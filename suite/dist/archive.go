package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/unitd/unitd/service/units"
	"github.com/unitd/unitd/testcharms/images"
)

// dawn is the time of all files: one that says nothing.
var dawn = time.Unix(0, 0)

// archive is a tar file, compressed, with the files in order of their names, and the
// folders above them.
func (r release) archive(files []file) ([]byte, error) {
	var b bytes.Buffer
	zip, err := gzip.NewWriterLevel(&b, r.level)
	if err != nil {
		return nil, err
	}
	out, made := tar.NewWriter(zip), map[string]bool{".": true, "/": true}
	files = slices.Clone(files)
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	for _, f := range files {
		var above []string
		for dir := path.Dir(f.name); !made[dir]; dir = path.Dir(dir) {
			above, made[dir] = append(above, dir), true
		}
		for _, dir := range slices.Backward(above) {
			if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: dawn, Uname: "root", Gname: "root"}); err != nil {
				return nil, err
			}
		}
		mode := int64(0o644)
		if f.program {
			mode = 0o755
		}
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: f.name, Size: int64(len(f.data)), Mode: mode, ModTime: dawn, Uname: "root", Gname: "root"}); err != nil {
			return nil, err
		}
		if _, err := out.Write(f.data); err != nil {
			return nil, err
		}
	}
	if err := out.Close(); err != nil {
		return nil, err
	}
	err = zip.Close()
	return b.Bytes(), err
}

// image is an archive, as docker save writes it, of an image with the programs alone.
func (r release) image(p platform, programs []file) ([]byte, error) {
	var layer images.Layer
	for _, f := range programs {
		layer = append(layer, images.File{Name: "usr/bin/" + f.name, Mode: 0o755, Data: f.data})
	}
	layer = append(layer, images.File{Name: "tmp", Mode: fs.ModeDir | fs.ModeSticky | 0o777},
		images.File{Name: "var/lib/unitd", Mode: fs.ModeDir | 0o700})
	var b bytes.Buffer
	i := images.Image{Layers: []images.Layer{layer}, Arch: p.arch, Entrypoint: []string{"/usr/bin/unitd"},
		Env: []string{"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "UNITD_DATA=/var/lib/unitd"}}
	err := i.Docker(&b, "unitd:"+strings.ReplaceAll(r.version, "+", "-"))
	return b.Bytes(), err
}

// debianVersion is a version that Debian sorts before the release that it leads to.
func debianVersion(version string) string { return strings.Replace(version, "-", "~", 1) }

// deb is a Debian package: an ar file of three members.
func (r release) deb(p platform, programs, texts []file) ([]byte, error) {
	files := append(under("./usr/bin", programs), under("./usr", texts)...)
	for _, name := range units.Names() {
		unit, _ := units.File(name)
		files = append(files, file{name: "./usr/lib/systemd/system/" + name, data: []byte(unit)})
	}
	size := 0
	for _, f := range files {
		size += len(f.data)
	}
	control := fmt.Sprintf(`Package: unitd
Version: %s
Architecture: %s
Maintainer: unitd maintainers <maintainers@unitd.invalid>
Installed-Size: %d
Section: utils
Priority: optional
Description: runs charms on one machine, with no controller and no cloud
 unitd deploys charms, runs their hooks in a guaranteed order, and relates them.
 This package has the program, the hook tools, the manual, shell completion, and
 systemd units for the agent and its page, which aren't enabled.
`, debianVersion(r.version), p.arch, (size+1023)/1024)
	head, err := r.archive([]file{{name: "./control", data: []byte(control)}})
	if err != nil {
		return nil, err
	}
	data, err := r.archive(files)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("!<arch>\n")
	for _, member := range []file{{name: "debian-binary", data: []byte("2.0\n")}, {name: "control.tar.gz", data: head}, {name: "data.tar.gz", data: data}} {
		fmt.Fprintf(&b, "%-16s%-12d%-6d%-6d%-8s%-10d`\n", member.name, 0, 0, 0, "100644", len(member.data))
		b.Write(member.data)
		if len(member.data)%2 == 1 {
			b.WriteByte('\n')
		}
	}
	return b.Bytes(), nil
}
