//go:build !linux

package oci

import (
	"context"
	"io"

	"github.com/juju/errors"
)

const unpacks = false

func unpack(context.Context, string, io.Reader, Form, limits) (contents, error) {
	return contents{}, errors.NewNotSupported(nil, "images can be unpacked on Linux only")
}

func implied(context.Context, []*layer) (map[string]attributes, error) { return nil, nil }

func writeImplied(string, map[string]attributes, Form) (contents, error) {
	return contents{}, errors.NewNotSupported(nil, "images can be unpacked on Linux only")
}
