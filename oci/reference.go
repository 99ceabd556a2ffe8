package oci

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// Kind says where an image is.
type Kind string

// The kinds. As prefixes of references they are followed by a colon.
const (
	Registry      Kind = "registry" // has no prefix
	DockerArchive Kind = "docker-archive"
	OCIArchive    Kind = "oci-archive"
	OCILayout     Kind = "oci-layout"
	DockerDaemon  Kind = "docker-daemon"
	RootFS        Kind = "rootfs" // a directory with a root file system
	Host          Kind = "host"   // the host's own root
	// File is a path without a prefix: its content says which archive it is.
	File Kind = "file"
)

// Reference says which image is meant. The zero value is none.
type Reference struct {
	Kind Kind
	// Path is that of an archive, a layout or a root.
	Path string
	// Name is what a registry or the docker daemon calls the image.
	Name string
	// Digest is that of the image in a layout, "sha256:…"; empty: it has one only.
	Digest string
}

// suffixes are the ends of paths that need nothing else to be taken for one.
var suffixes = []string{".rock", ".tar", ".tar.gz", ".tgz", ".tar.zst"}

// digestForm is a digest as the cache can have it.
var digestForm = pattern.New(`^sha256:[0-9a-f]{64}$`)

// repositoryForm is a repository's name, with its host before it: the library
// takes more than registries do, "../x" for one.
var repositoryForm = pattern.New(`^(?:[a-zA-Z0-9](?:[a-zA-Z0-9.-]*[a-zA-Z0-9])?(?::[0-9]+)?/|\[[0-9a-fA-F:]+\](?::[0-9]+)?/)?` +
	`[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*(?:/[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*)*$`)

// Parse reads a reference: "host", PREFIX:REST with the prefix of a kind, a path
// (it begins with "/", "./" or "../", or ends as an archive's does), or what a
// registry calls an image. It looks at no file. The error is NotValid.
//
// Source: docs/spec/containers.md §7.1, K-009.
func Parse(s string) (Reference, error) {
	if s == string(Host) {
		return Reference{Kind: Host}, nil
	}
	if strings.ContainsFunc(s, unicode.IsControl) {
		return Reference{}, notValid(s, "")
	}
	prefix, rest, found := strings.Cut(s, ":")
	switch kind := Kind(prefix); {
	case found && slices.Contains([]Kind{DockerArchive, OCIArchive, OCILayout, DockerDaemon, RootFS}, kind):
		if rest == "" {
			return Reference{}, notValid(s, "nothing is named after the colon")
		}
		return parseKind(s, kind, rest)
	case isPath(s):
		return Reference{Kind: File, Path: s}, nil
	}
	if err := checkName(s); err != nil {
		return Reference{}, notValid(s, "")
	}
	return Reference{Kind: Registry, Name: s}, nil
}

func parseKind(s string, kind Kind, rest string) (Reference, error) {
	switch kind {
	case DockerDaemon:
		// An id of an image is good too.
		if checkName(rest) != nil && !digestForm.MatchString(rest) {
			return Reference{}, notValid(s, "")
		}
		return Reference{Kind: kind, Name: rest}, nil
	case OCILayout:
		if i := strings.LastIndex(rest, "@"); i > 0 && digestForm.MatchString(rest[i+1:]) {
			return Reference{Kind: kind, Path: rest[:i], Digest: rest[i+1:]}, nil
		}
	}
	return Reference{Kind: kind, Path: rest}, nil
}

func isPath(s string) bool {
	return slices.ContainsFunc([]string{"/", "./", "../"}, func(p string) bool { return strings.HasPrefix(s, p) }) ||
		slices.ContainsFunc(suffixes, func(p string) bool { return len(s) > len(p) && strings.HasSuffix(s, p) })
}

func checkName(s string) error {
	ref, err := name.ParseReference(s)
	if err != nil {
		return errors.Trace(err)
	}
	repository, _, _ := strings.Cut(s, "@")
	if i := strings.LastIndex(repository, ":"); i > strings.LastIndex(repository, "/") {
		repository = repository[:i] // without the tag
	}
	if !repositoryForm.MatchString(repository) {
		return errors.NotValidf("repository %q", repository)
	}
	if d, ok := ref.(name.Digest); ok && !digestForm.MatchString(d.DigestStr()) {
		return errors.NotValidf("digest %q", d.DigestStr())
	}
	return nil
}

// notValid is the contract's text, with what else there is to say.
func notValid(s, why string) error {
	text := fmt.Sprintf("filepath or registry path: %s not valid", strings.Map(visible, s))
	if why != "" {
		text += ": " + why
	}
	return errors.NewNotValid(nil, text)
}

// visible has an error be one line of text.
func visible(r rune) rune {
	if !unicode.IsPrint(r) {
		return '?'
	}
	return r
}

// String is the reference as Parse takes it.
func (r Reference) String() string {
	switch {
	case r.Kind == Registry:
		return r.Name
	case r.Kind == Host, r.Kind == "":
		return string(r.Kind)
	case r.Kind == File:
		return r.Path
	case r.Kind == DockerDaemon:
		return string(r.Kind) + ":" + r.Name
	case r.Digest != "":
		return string(r.Kind) + ":" + r.Path + "@" + r.Digest
	}
	return string(r.Kind) + ":" + r.Path
}

// Directory says whether the image is a directory of the host, which has neither
// digest nor layers: it isn't copied, and other hosts don't have it.
func (r Reference) Directory() bool { return r.Kind == Host || r.Kind == RootFS }
