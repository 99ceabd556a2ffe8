package oci

import (
	"bytes"
	"io"
	"os"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// Source is what a person gives for an image: where it is, and how to get it.
type Source struct {
	Reference Reference
	// Username and Password are for the registry; empty: those that the docker
	// configuration file has.
	Username, Password string
}

// String is the reference, without what is secret.
func (s Source) String() string { return s.Reference.String() }

// GoString is String: no format prints a password.
func (s Source) GoString() string { return s.String() }

// maxDetails is how long a file with the details of an image may be.
const maxDetails = 1 << 20

// ReadSource is the value of an image as a resource: a file first, an archive or
// one that ParseDetails reads; else what Parse takes. The error is NotValid.
//
// Source: docs/spec/containers.md §7.1.
func ReadSource(value string) (Source, error) {
	st, err := os.Stat(value)
	if err != nil || st.IsDir() || value == string(Host) {
		ref, parseErr := Parse(value)
		if parseErr == nil && ref.Kind == File && err != nil {
			parseErr = notValid(value, "there is no such file")
		}
		return Source{Reference: ref}, errors.Trace(parseErr)
	}
	if !st.Mode().IsRegular() {
		return Source{}, notValid(value, "it isn't a file")
	}
	f, err := os.Open(value)
	if err != nil {
		return Source{}, errors.Annotatef(err, "cannot read %s", value)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxDetails+1))
	switch {
	case err != nil:
		return Source{}, errors.Annotatef(err, "cannot read %s", value)
	case isArchive(b):
		return Source{Reference: Reference{Kind: File, Path: value}}, nil
	case len(b) > maxDetails:
		return Source{}, notValid(value, errDetails)
	}
	s, err := ParseDetails(b)
	return s, errors.Annotatef(err, "%s", value)
}

// errDetails is the contract's.
const errDetails = "expected json or yaml file containing oci-image registry details"

// isArchive says of a file's beginning whether it can be an image's: a tar file, or
// something compressed.
func isArchive(b []byte) bool {
	return len(b) > 262 && bytes.Equal(b[257:262], []byte("ustar")) || compression(b) != plain
}

// ParseDetails reads the details of an image in YAML or JSON: registrypath, or
// ImageName as the original stores it, username and password. Other keys, of which
// the original has some, mean nothing here. The error is NotValid.
//
// Source: docs/spec/containers.md §6, §7.1, K-008.
func ParseDetails(b []byte) (Source, error) {
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(b), []byte("{")) {
			return Source{}, errors.NewNotValid(nil, "json parsing: "+oneLine(err))
		}
		return Source{}, errors.NewNotValid(nil, errDetails)
	}
	var s Source
	path := ""
	for _, key := range []struct {
		names []string
		to    *string
	}{
		{[]string{"registrypath", "ImageName", "imagename"}, &path},
		{[]string{"username", "Username"}, &s.Username},
		{[]string{"password", "Password"}, &s.Password},
	} {
		for _, name := range key.names {
			node, ok := doc[name]
			if !ok || *key.to != "" {
				continue
			}
			if err := node.Decode(key.to); err != nil {
				return Source{}, errors.NewNotValid(nil, name+": expected a word")
			}
		}
	}
	if path == "" {
		return Source{}, errors.NewNotValid(nil, errDetails)
	}
	ref, err := Parse(path)
	if err != nil {
		return Source{}, errors.NewNotValid(nil, "docker image path "+quoted(path)+" not valid")
	}
	s.Reference = ref
	return s, nil
}

func quoted(s string) string { return `"` + strings.Map(visible, s) + `"` }

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
