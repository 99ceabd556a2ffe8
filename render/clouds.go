package render

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/model"
)

// Where clouds come from.
const (
	PublicCloud  = "public"
	BuiltInCloud = "built-in"
	LocalCloud   = "local"
)

// Cloud is a cloud with what is known of it here.
type Cloud struct {
	model.Cloud
	Name    string
	Defined string // PublicCloud, BuiltInCloud or LocalCloud
	// Credentials is how many there are for it.
	Credentials int
	// Controller is whose copy it is; empty: the client's.
	Controller string
}

// CloudDetails is a cloud as show-cloud and clouds show it. Source:
// docs/spec/juju-clients.md §4.2.
type CloudDetails struct {
	Name             string                       `json:"name,omitempty" yaml:"name,omitempty"`
	Summary          string                       `json:"summary,omitempty" yaml:"summary,omitempty"`
	Defined          string                       `json:"defined,omitempty" yaml:"defined,omitempty"`
	Type             string                       `json:"type" yaml:"type"`
	Description      string                       `json:"description,omitempty" yaml:"description,omitempty"`
	AuthTypes        flow                         `json:"auth-types,omitempty" yaml:"auth-types,omitempty"`
	Endpoint         string                       `json:"endpoint,omitempty" yaml:"endpoint,omitempty"`
	IdentityEndpoint string                       `json:"identity-endpoint,omitempty" yaml:"identity-endpoint,omitempty"`
	StorageEndpoint  string                       `json:"storage-endpoint,omitempty" yaml:"storage-endpoint,omitempty"`
	CredentialCount  int                          `json:"credential-count,omitempty" yaml:"credential-count,omitempty"`
	Regions          map[string]model.CloudRegion `json:"regions,omitempty" yaml:"regions,omitempty"`
	Config           map[string]any               `json:"config,omitempty" yaml:"config,omitempty"`
	RegionConfig     map[string]map[string]any    `json:"region-config,omitempty" yaml:"region-config,omitempty"`
	CACredentials    []string                     `json:"ca-credentials,omitempty" yaml:"ca-credentials,omitempty"`
	SkipTLSVerify    bool                         `json:"skip-tls-verify,omitempty" yaml:"skip-tls-verify,omitempty"`
}

// Details are what is shown of a cloud: of its regions those endpoints that aren't its
// own.
func (c Cloud) Details(config bool) CloudDetails {
	d := CloudDetails{
		Defined: c.Defined, Type: c.Type, Description: c.describe(), AuthTypes: c.AuthTypes, Endpoint: c.Endpoint,
		IdentityEndpoint: c.IdentityEndpoint, StorageEndpoint: c.StorageEndpoint, CredentialCount: c.Credentials,
		CACredentials: c.CACertificates, SkipTLSVerify: c.SkipTLSVerify, Regions: map[string]model.CloudRegion{},
	}
	if c.Controller != "" {
		d.Defined = PublicCloud
	}
	if config {
		d.Config, d.RegionConfig = c.Config, c.RegionConfig
	}
	for name, r := range c.Regions {
		if r.Endpoint == c.Endpoint {
			r.Endpoint = ""
		}
		if r.IdentityEndpoint == c.IdentityEndpoint {
			r.IdentityEndpoint = ""
		}
		if r.StorageEndpoint == c.StorageEndpoint {
			r.StorageEndpoint = ""
		}
		d.Regions[name] = r
	}
	return d
}

// describe is the cloud's description, or one made of its type.
func (c Cloud) describe() string {
	if c.Type == "" {
		return c.Description
	}
	return cmp.Or(c.Description, strings.ToUpper(c.Type[:1])+c.Type[1:]+" Cloud")
}

// summary says whose copy it is.
func (c Cloud) summary() string {
	if c.Controller == "" {
		return fmt.Sprintf("Client cloud %q", c.Name)
	}
	return fmt.Sprintf("Cloud %q from controller %q", c.Name, c.Controller)
}

// ShowClouds is what show-cloud shows of the copies of a cloud: as "display", "yaml" or
// "json". Source: docs/spec/juju-clients.md §4.2.
func ShowClouds(format string, clouds []Cloud, config bool) ([]byte, error) {
	var b bytes.Buffer
	list := []CloudDetails{}
	for _, c := range clouds {
		d := c.Details(config)
		if format != "display" {
			d.Name, d.Summary = c.Name, c.summary()
		}
		list = append(list, d)
		if format == "json" {
			continue
		}
		text, err := indented(d)
		if err != nil {
			return nil, errors.Trace(err)
		}
		if format == "display" {
			fmt.Fprintf(&b, "%s:\n\n%s", c.summary(), text)
		} else {
			b.Write(text)
		}
		if len(clouds) > 1 {
			b.WriteString(map[string]string{"display": "\n", "yaml": "---\n"}[format])
		}
	}
	if format == "json" {
		return Encode(format, list)
	}
	return b.Bytes(), nil
}

// CloudsTree is what clouds shows as JSON and YAML; of a cloud that both have the
// controller's copy is shown.
func CloudsTree(clouds []Cloud) map[string]CloudDetails {
	out := map[string]CloudDetails{}
	for _, c := range clouds {
		if _, there := out[c.Name]; !there || c.Controller != "" {
			out[c.Name] = c.Details(true)
		}
	}
	return out
}

// CloudRows are clouds for people, those of the client or of a controller. Source:
// docs/spec/juju-clients.md §4.2.
func CloudRows(clouds []Cloud, client bool) [][]Cell {
	head := Heads("Cloud", "Regions", "Default", "Type")
	if client {
		head = Heads("Cloud", "Regions", "Default", "Type", "Credentials", "Source", "Description")
	}
	rows := [][]Cell{head}
	for _, c := range clouds {
		first := ""
		if len(c.Regions) > 0 {
			first = slices.Min(slices.Collect(maps.Keys(c.Regions)))
		}
		row := []Cell{{Text: c.Name}, {Text: fmt.Sprint(len(c.Regions))}, {Text: first}, {Text: c.Type}}
		if client {
			text := []rune(c.describe())
			if len(text) > 40 {
				text = text[:39]
			}
			row = append(row, Cell{Text: fmt.Sprint(c.Credentials)}, Cell{Text: c.Defined}, Cell{Text: string(text)})
		} else {
			row[3].Text += "  " // as the field's own table has it
		}
		rows = append(rows, row)
	}
	return rows
}

// CredentialsTree is what credentials shows as JSON; as YAML the names stand where the
// attributes do.
type CredentialsTree struct {
	Client     map[string]model.CloudCredentials `json:"client-credentials,omitempty" yaml:"client-credentials,omitempty"`
	Controller map[string]model.CloudCredentials `json:"controller-credentials,omitempty" yaml:"controller-credentials,omitempty"`
}

// Hidden is the tree without what is secret.
func (t CredentialsTree) Hidden() CredentialsTree {
	hide := func(all map[string]model.CloudCredentials) map[string]model.CloudCredentials {
		out := map[string]model.CloudCredentials{}
		for cloud, c := range all {
			out[cloud] = c.Hidden()
		}
		return out
	}
	return CredentialsTree{hide(t.Client), hide(t.Controller)}
}

// CredentialRows are the names of credentials by cloud, the default one first. Source:
// docs/spec/juju-clients.md §4.2.
func CredentialRows(all map[string]model.CloudCredentials) [][]Cell {
	rows := [][]Cell{Heads("Cloud", "Credentials")}
	for _, cloud := range slices.Sorted(maps.Keys(all)) {
		c := all[cloud]
		var names []string
		if _, ok := c.Credentials[c.DefaultCredential]; ok {
			names = append(names, c.DefaultCredential+"*")
		}
		for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
			if name != c.DefaultCredential {
				names = append(names, name)
			}
		}
		rows = append(rows, []Cell{{Text: cloud}, {Text: strings.Join(names, ", ")}})
	}
	return rows
}

// DefaultSetting is one of model-defaults. Source: docs/spec/juju-clients.md §3.7.
type DefaultSetting struct {
	Default    any             `json:"default,omitempty" yaml:"default,omitempty"`
	Controller any             `json:"controller,omitempty" yaml:"controller,omitempty"`
	Regions    []RegionSetting `json:"regions,omitempty" yaml:"regions,omitempty"`
}

// RegionSetting is what a setting is in a region.
type RegionSetting struct {
	Name  string `json:"name" yaml:"name"`
	Value any    `json:"value" yaml:"value"`
}

// DefaultRows are settings with their defaults, for people.
func DefaultRows(settings map[string]DefaultSetting) [][]Cell {
	shown := func(v any) Cell {
		switch v {
		case nil:
			return Cell{Text: "-"}
		case "":
			return Cell{Text: `""`}
		}
		return Cell{Text: fmt.Sprint(v)}
	}
	rows := [][]Cell{Heads("Attribute", "Default", "Controller")}
	for _, k := range slices.Sorted(maps.Keys(settings)) {
		s := settings[k]
		rows = append(rows, []Cell{{Text: k}, shown(s.Default), shown(s.Controller)})
		for _, r := range s.Regions {
			rows = append(rows, []Cell{{Text: "  " + r.Name}, shown(r.Value), {Text: "-"}})
		}
	}
	return rows
}

// AttributeRows are keys with their values as YAML, for people.
func AttributeRows(values map[string]any) ([][]Cell, error) {
	rows := [][]Cell{Heads("Attribute", "Value")}
	for _, k := range slices.Sorted(maps.Keys(values)) {
		b, err := yaml.Marshal(values[k])
		if err != nil {
			return nil, errors.Trace(err)
		}
		rows = append(rows, []Cell{{Text: k}, {Text: strings.TrimSpace(string(b))}})
	}
	return rows, nil
}
