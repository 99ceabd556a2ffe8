package bases

import (
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// errNoImage is that there is no way to a base's image.
const errNoImage = errors.ConstError("no image")

// Kind says what a base is made from.
type Kind string

// The kinds: a distribution's archive, an image of package oci, and a directory or a
// tarball.
const (
	Debootstrap Kind = "debootstrap"
	Image       Kind = "image"
	File        Kind = "file"
)

// Recipe is how a base is made, so that it can be made again.
type Recipe struct {
	Kind Kind `json:"kind,omitempty"`
	// From is the suite, the reference of the image, or the path of the file.
	From string `json:"from,omitempty"`
	// Asked is what whoever made it has said; what was the host's is asked for anew.
	Asked Asked `json:"asked,omitzero"`
}

// source is the recipe as people are told of it.
func (r Recipe) source() string {
	text := r.From
	if r.Kind != File {
		text = string(r.Kind) + " " + r.From
	}
	if r.Kind == Debootstrap && r.Asked.Mirror != "" && r.Asked.Mirror != DefaultMirror {
		text += " from " + r.Asked.Mirror
	}
	return text
}

// recipeOf is the recipe of a base that an earlier unitd has made, of which there is the
// source alone.
func recipeOf(source string) Recipe {
	rest, ok := strings.CutPrefix(source, string(Debootstrap)+" ")
	if !ok {
		return Recipe{Kind: File, From: source}
	}
	suite, mirror, _ := strings.Cut(rest, " from ")
	return Recipe{Kind: Debootstrap, From: suite, Asked: Asked{Mirror: mirror}}
}

// suites are the names that debootstrap has for bases.
var suites = map[model.Base]string{
	{Name: "debian", Channel: "11"}: "bullseye", {Name: "debian", Channel: "12"}: "bookworm", {Name: "debian", Channel: "13"}: "trixie",
	{Name: "ubuntu", Channel: "20.04"}: "focal", {Name: "ubuntu", Channel: "22.04"}: "jammy", {Name: "ubuntu", Channel: "24.04"}: "noble",
}

// official is the image of a base that its distribution has published; empty: none is.
func official(base model.Base) string {
	if base.Name != "debian" && base.Name != "ubuntu" {
		return ""
	}
	release, _, _ := strings.Cut(base.Channel, "/")
	return "docker.io/library/" + base.Name + ":" + release
}

// packages are what a base has beside the least that there is: what machines and charms
// look for. Source: docs/spec/machine-isolation.md §6.
var packages = []string{"systemd", "systemd-sysv", "dbus", "python3", "sudo", "lsb-release", "iproute2", "netbase", "ca-certificates", "procps"}

// missing are those of the packages that a root lacks whose list of packages, dpkg's
// status, has that text.
func missing(status string) []string {
	installed := map[string]bool{}
	for _, paragraph := range strings.Split(status, "\n\n") {
		name, is := "", false
		for _, line := range strings.Split(paragraph, "\n") {
			if value, ok := strings.CutPrefix(line, "Package: "); ok {
				name = value
			}
			is = is || line == "Status: install ok installed"
		}
		installed[name] = is
	}
	var lacks []string
	for _, p := range packages {
		if !installed[p] {
			lacks = append(lacks, p)
		}
	}
	return lacks
}
