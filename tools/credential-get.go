package tools

import (
	hookcontext "github.com/unitd/unitd/context"
)

func credentialGetTool() Tool {
	return Tool{
		Name:    "credential-get",
		Summary: "access cloud credentials",
		Details: `Prints what is known of the cloud that the unit's machine is in. The application must
be trusted (unitd config APPLICATION trust=true). Where there is no cloud, there are
no credentials in it either.`,
		make: func(c *hookcontext.Context) command { return &credentialGet{ctx: c} },
	}
}

type credentialGet struct {
	ctx *hookcontext.Context
	out output
}

func (t *credentialGet) declare(f *flags) { t.out.declare(f, smart, inYAML, inJSON) }

func (t *credentialGet) parse(args []string) error { return noMore(args) }

// What credential-get prints: JSON leaves out what is empty and has dashes in
// its names, YAML doesn't. Source: docs/spec/hook-tools.md §7.2.
type (
	cloudSpec struct {
		Type             string      `json:"type" yaml:"type"`
		Name             string      `json:"name" yaml:"name"`
		Region           string      `json:"region,omitempty" yaml:"region"`
		Endpoint         string      `json:"endpoint,omitempty" yaml:"endpoint"`
		IdentityEndpoint string      `json:"identity-endpoint,omitempty" yaml:"identityendpoint"`
		StorageEndpoint  string      `json:"storage-endpoint,omitempty" yaml:"storageendpoint"`
		Credential       *credential `json:"credential,omitempty" yaml:"credential"`
		CACertificates   []string    `json:"cacertificates,omitempty" yaml:"cacertificates"`
		SkipTLSVerify    bool        `json:"skip-tls-verify,omitempty" yaml:"skiptlsverify"`
		IsController     bool        `json:"is-controller-cloud,omitempty" yaml:"iscontrollercloud"`
	}
	credential struct {
		AuthType string            `json:"auth-type" yaml:"authtype"`
		Attrs    map[string]string `json:"attrs,omitempty" yaml:"attributes"`
		Redacted []string          `json:"redacted,omitempty" yaml:"redacted"`
	}
)

func (t *credentialGet) run(c *call) error {
	cloud, err := t.ctx.Cloud()
	if err != nil {
		return err
	}
	spec := cloudSpec{Type: cloud.Type, Name: cloud.Name, Region: cloud.Region, CACertificates: []string{}}
	if cloud.AuthType != "" {
		spec.Credential = &credential{AuthType: cloud.AuthType, Attrs: cloud.Attributes, Redacted: []string{}}
	}
	return t.out.write(c, spec)
}
