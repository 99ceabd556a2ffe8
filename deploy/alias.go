package deploy

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/juju/errors"
	"gopkg.in/yaml.v3"
)

// AliasVariable names a file with the names of charms that are taken from this host:
// a YAML map of names to paths, which are relative to the file.
const AliasVariable = "UNITD_CHARMS"

// alias is the path that a name stands for; empty: it is none.
func (d *Deployer) alias(name string) (string, error) {
	if d.aliases == nil {
		aliases, err := readAliases(cmp.Or(os.Getenv(AliasVariable), d.aliasFile))
		if err != nil {
			return "", err
		}
		d.aliases = aliases
	}
	return d.aliases[name], nil
}

// readAliases reads the file; empty: there is none.
func readAliases(file string) (map[string]string, error) {
	aliases := map[string]string{}
	if file == "" {
		return aliases, nil
	}
	file, err := filepath.Abs(file)
	if err != nil {
		return nil, errors.Trace(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return nil, errors.Annotate(err, "cannot read which names stand for charms")
	}
	if err := yaml.Unmarshal(b, &aliases); err != nil {
		why := strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: ")), " ")
		return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: expected a map of names to paths of charms: %s", file, why))
	}
	for name, path := range aliases {
		if path == "" {
			return nil, errors.NewNotValid(nil, fmt.Sprintf("%s: %s: expected the path of a charm", file, name))
		}
		if !filepath.IsAbs(path) {
			aliases[name] = filepath.Join(filepath.Dir(file), path)
		}
	}
	return aliases, nil
}
