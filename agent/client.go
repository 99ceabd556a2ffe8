package agent

import (
	"os"
	"path/filepath"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"

	"github.com/unitd/unitd/durable"
	"github.com/unitd/unitd/model"
)

const (
	// clientClouds and ClientCredentials have what this host's people have recorded,
	// whichever controller they work on, in the host's own data directory. They are
	// their owner's alone. Source: docs/spec/juju-clients.md §4.
	clientClouds      = "clouds.yaml"
	ClientCredentials = "credentials.yaml"
)

// ClientRecords are what is recorded for the client: clouds, and credentials by cloud.
type ClientRecords struct {
	Clouds      map[string]model.Cloud
	Credentials map[string]model.CloudCredentials
}

type (
	cloudsFile struct {
		Clouds map[string]model.Cloud `yaml:"clouds"`
	}
	credentialsFile struct {
		Credentials map[string]model.CloudCredentials `yaml:"credentials"`
	}
)

// ReadClient reads what is recorded for the client.
func ReadClient() (ClientRecords, error) {
	clouds, credentials := cloudsFile{map[string]model.Cloud{}}, credentialsFile{map[string]model.CloudCredentials{}}
	root, err := RootDir()
	if err != nil {
		return ClientRecords{}, errors.Trace(err)
	}
	for name, v := range map[string]any{clientClouds: &clouds, ClientCredentials: &credentials} {
		path := filepath.Join(root, name)
		if err := checkSecret(path); err != nil {
			return ClientRecords{}, err
		}
		b, err := os.ReadFile(path)
		if os.IsNotExist(err) {
			continue
		}
		if err == nil && yaml.Unmarshal(b, v) != nil {
			err = errors.Errorf("%s is not of the form that it was written in", path)
		}
		if err != nil {
			return ClientRecords{}, errors.Annotate(err, "cannot read what is recorded for the client")
		}
	}
	return ClientRecords{clouds.Clouds, credentials.Credentials}, nil
}

// Write records them.
func (r ClientRecords) Write() error {
	root, err := RootDir()
	if err != nil {
		return errors.Trace(err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return errors.Annotate(err, "cannot make the data directory (UNITD_DATA)")
	}
	for name, v := range map[string]any{clientClouds: cloudsFile{r.Clouds}, ClientCredentials: credentialsFile{r.Credentials}} {
		b, err := yaml.Marshal(v)
		if err == nil {
			err = durable.Disk{}.ReplaceFile(filepath.Join(root, name), b, 0o600)
		}
		if err != nil {
			return errors.Annotate(err, "cannot record it for the client")
		}
	}
	return nil
}
