package model

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/pattern"
)

// Cloud is what a file says of a cloud. Only people are told. Source:
// docs/spec/juju-clients.md §4.2.
type Cloud struct {
	Type             string                    `json:"type" yaml:"type"`
	Description      string                    `json:"description,omitempty" yaml:"description,omitempty"`
	AuthTypes        []string                  `json:"auth-types,omitempty" yaml:"auth-types,omitempty"`
	Endpoint         string                    `json:"endpoint,omitempty" yaml:"endpoint,omitempty"`
	IdentityEndpoint string                    `json:"identity-endpoint,omitempty" yaml:"identity-endpoint,omitempty"`
	StorageEndpoint  string                    `json:"storage-endpoint,omitempty" yaml:"storage-endpoint,omitempty"`
	Regions          map[string]CloudRegion    `json:"regions,omitempty" yaml:"regions,omitempty"`
	Config           map[string]any            `json:"config,omitempty" yaml:"config,omitempty"`
	RegionConfig     map[string]map[string]any `json:"region-config,omitempty" yaml:"region-config,omitempty"`
	CACertificates   []string                  `json:"ca-certificates,omitempty" yaml:"ca-certificates,omitempty"`
	SkipTLSVerify    bool                      `json:"skip-tls-verify,omitempty" yaml:"skip-tls-verify,omitempty"`
}

// CloudRegion is a region of a cloud; an endpoint that it doesn't name is the cloud's.
type CloudRegion struct {
	Endpoint         string `json:"endpoint,omitempty" yaml:"endpoint,omitempty"`
	IdentityEndpoint string `json:"identity-endpoint,omitempty" yaml:"identity-endpoint,omitempty"`
	StorageEndpoint  string `json:"storage-endpoint,omitempty" yaml:"storage-endpoint,omitempty"`
}

var validCloud = pattern.New(`^[a-zA-Z0-9][a-zA-Z0-9._-]*$`)

// CheckCloudName is the error, NotValid, of what can't be the name of a cloud.
func CheckCloudName(name string) error {
	if !validCloud.MatchString(name) {
		return errors.NewNotValid(nil, fmt.Sprintf("cloud name %q not valid", name))
	}
	return nil
}

// ParseCloud reads the cloud of that name from a file, which has clouds by name below
// "clouds", or the one cloud alone; file is what people call it. One without regions
// gets "default". Errors: NotFound for a file of others, NotValid.
func ParseCloud(text []byte, file, name string) (Cloud, error) {
	var several struct {
		Clouds map[string]Cloud `yaml:"clouds"`
	}
	if err := yaml.Unmarshal(text, &several); err != nil {
		return Cloud{}, errors.NewNotValid(nil, fmt.Sprintf("cannot read clouds from %s: %v", file, err))
	}
	c, ok := several.Clouds[name]
	if len(several.Clouds) == 0 {
		if err := yaml.Unmarshal(text, &c); err != nil || c.Type == "" {
			return Cloud{}, errors.NewNotValid(nil, "no clouds found in parsed yaml, please validate yaml keys")
		}
		ok = true
	}
	switch {
	case !ok:
		return c, errors.NewNotFound(nil, fmt.Sprintf("cloud %q not found in file %q", name, file))
	case c.Type == "":
		return c, errors.NewNotValid(nil, fmt.Sprintf("cloud %q in file %q has no type", name, file))
	}
	if len(c.Regions) == 0 {
		c.Regions = map[string]CloudRegion{"default": {}}
	}
	return c, nil
}

// Credential is by what a cloud would let somebody in: its attributes may be secrets,
// see HiddenAttribute.
type Credential struct {
	AuthType string            `json:"auth-type" yaml:"auth-type"`
	Label    string            `json:"label,omitempty" yaml:"label,omitempty"`
	Revoked  bool              `json:"revoked,omitempty" yaml:"revoked,omitempty"`
	Details  map[string]string `json:"details,omitempty" yaml:",inline"`
}

// CloudCredentials are those for one cloud.
type CloudCredentials struct {
	DefaultCredential string                `json:"default-credential,omitempty" yaml:"default-credential,omitempty"`
	DefaultRegion     string                `json:"default-region,omitempty" yaml:"default-region,omitempty"`
	Credentials       map[string]Credential `json:"cloud-credentials,omitempty" yaml:",inline"`
}

// ParseCredentials reads those for a cloud from a file, which has clouds by name below
// "credentials"; file is what people call it. Errors: NotFound, NotValid.
func ParseCredentials(text []byte, file, cloud string) (CloudCredentials, error) {
	var all struct {
		Credentials map[string]CloudCredentials `yaml:"credentials"`
	}
	if err := yaml.Unmarshal(text, &all); err != nil {
		// The library's own words may have values of the file in them.
		return CloudCredentials{}, errors.NewNotValid(nil, fmt.Sprintf("cannot read credentials from %s: it isn't YAML of that form", file))
	}
	c, ok := all.Credentials[cloud]
	if !ok || len(c.Credentials) == 0 {
		return c, errors.NewNotFound(nil, fmt.Sprintf("no credentials for cloud %s exist in file %s", cloud, file))
	}
	return c, nil
}

// CheckAuthTypes is the error, NotValid, of a credential of another kind than the cloud
// takes; where nothing is known of the cloud, any will do.
func (c CloudCredentials) CheckAuthTypes(cloud string, known []string) error {
	for _, name := range slices.Sorted(maps.Keys(c.Credentials)) {
		if kind := c.Credentials[name].AuthType; kind == "" || len(known) > 0 && !slices.Contains(known, kind) {
			return errors.NewNotValid(nil, fmt.Sprintf("credential %q contains invalid auth type %q, valid auth types for cloud %q are [%s]",
				name, kind, cloud, strings.Join(known, " ")))
		}
	}
	return nil
}

// HiddenAttribute says whether an attribute of a credential is a secret. Source:
// docs/spec/juju-clients.md §4.2.
func HiddenAttribute(name string) bool {
	return slices.Contains([]string{
		"secret-key", "password", "application-password", "private-key", "server-cert", "client-cert", "client-key", "trust-password",
		"maas-oauth", "api-token", "pass-phrase", "Token", "ClientKeyData",
	}, name)
}

// Hidden are the credentials without what is secret.
func (c CloudCredentials) Hidden() CloudCredentials {
	shown := map[string]Credential{}
	for name, cred := range c.Credentials {
		details := maps.Clone(cred.Details)
		maps.DeleteFunc(details, func(k, _ string) bool { return HiddenAttribute(k) })
		cred.Details = details
		shown[name] = cred
	}
	c.Credentials = shown
	return c
}

// KnownClouds are those that there are without a file: public ones, and those that this
// host can be called. They have their types and kinds of credentials alone.
func KnownClouds() map[string]Cloud {
	return map[string]Cloud{
		"aws":       {Type: "ec2", Description: "Amazon Web Services", AuthTypes: []string{"access-key", "instance-role"}},
		"aws-china": {Type: "ec2", Description: "Amazon China", AuthTypes: []string{"access-key"}},
		"aws-gov":   {Type: "ec2", Description: "Amazon (USA Government)", AuthTypes: []string{"access-key"}},
		"azure":     {Type: "azure", Description: "Microsoft Azure", AuthTypes: []string{"interactive", "service-principal-secret"}},
		"equinix":   {Type: "equinix", Description: "Equinix Metal", AuthTypes: []string{"access-key"}},
		"google":    {Type: "gce", Description: "Google Cloud Platform", AuthTypes: []string{"oauth2", "jsonfile"}},
		"oracle":    {Type: "oci", Description: "Oracle Compute Cloud Service", AuthTypes: []string{"httpsig"}},
		"local":     {Type: "manual", Description: "This host", AuthTypes: []string{"empty"}, Regions: map[string]CloudRegion{"host": {}}},
		"localhost": {Type: "lxd", Description: "This host", AuthTypes: []string{"certificate", "interactive"}, Regions: map[string]CloudRegion{"localhost": {}}},
	}
}
