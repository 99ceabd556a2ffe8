package agent

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"

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
	// clientLock is locked by who changes them.
	clientLock = "client.lock"
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
	root, err := RootDir()
	if err != nil {
		return ClientRecords{}, errors.Trace(err)
	}
	return readClient(root)
}

func readClient(root string) (ClientRecords, error) {
	clouds, credentials := cloudsFile{map[string]model.Cloud{}}, credentialsFile{map[string]model.CloudCredentials{}}
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

// ChangeClient changes what is recorded for the client, unless change has an error, which it
// returns then. Of commands that do so at once each finds what those before it have
// recorded; change is called once.
func ChangeClient(change func(*ClientRecords) error) error {
	root, err := RootDir()
	if err != nil {
		return errors.Trace(err)
	}
	if err := os.MkdirAll(root, 0o700); err != nil {
		return errors.Annotate(err, "cannot make the data directory (UNITD_DATA)")
	}
	return changeClient(root, change)
}

func changeClient(root string, change func(*ClientRecords) error) error {
	unlock, err := lockClient(root)
	if err != nil {
		return errors.Annotate(err, "cannot lock what is recorded for the client")
	}
	defer unlock()
	records, err := readClient(root)
	if err != nil {
		return errors.Trace(err)
	}
	before, err := records.files()
	if err != nil {
		return errors.Trace(err)
	}
	if err := change(&records); err != nil {
		return err
	}
	after, err := records.files()
	if err != nil {
		return errors.Trace(err)
	}
	for _, name := range []string{clientClouds, ClientCredentials} {
		if bytes.Equal(before[name], after[name]) {
			continue
		}
		if err := (durable.Disk{}).ReplaceFile(filepath.Join(root, name), after[name], 0o600); err != nil {
			return errors.Annotate(err, "cannot record it for the client")
		}
	}
	return nil
}

// files is what the files have in them, by their names.
func (r ClientRecords) files() (map[string][]byte, error) {
	files := map[string][]byte{}
	for name, v := range map[string]any{clientClouds: cloudsFile{r.Clouds}, ClientCredentials: credentialsFile{r.Credentials}} {
		b, err := yaml.Marshal(v)
		if err != nil {
			return nil, errors.Annotate(err, "cannot record it for the client")
		}
		files[name] = b
	}
	return files, nil
}

// lockClient waits until no other command changes what is recorded.
func lockClient(root string) (unlock func(), err error) {
	f, err := os.OpenFile(filepath.Join(root, clientLock), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, errors.Trace(err)
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		f.Close()
		return nil, errors.Trace(err)
	}
	return func() { f.Close() }, nil
}
