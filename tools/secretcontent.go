package tools

import (
	"encoding/base64"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/juju/errors"

	hookcontext "github.com/unitd/unitd/context"
	"github.com/unitd/unitd/model"
)

// secretFlags are those that say what a secret is to be, for secret-add and
// secret-set. Empty ones weren't given. Source: docs/spec/hook-tools.md §6.
type secretFlags struct {
	ctx         *hookcontext.Context
	label       string
	description string
	expire      string
	rotate      string
	owner       string
	file        string
	content     []secretArg
}

// secretArg is one argument KEY=VALUE, of which the value may be in a file.
type secretArg struct {
	key, value string
	encoded    bool // the value is in base64
	fromFile   bool // the value is a path
}

func (s *secretFlags) declare(f *flags) {
	f.StringVar(&s.label, "label", "", "a label used to identify the secret in hooks")
	f.StringVar(&s.description, "description", "", "the secret description")
	f.StringVar(&s.expire, "expire", "", "either a duration or time when the secret should expire")
	f.StringVar(&s.rotate, "rotate", "", "the secret rotation policy")
	f.StringVar(&s.owner, "owner", "application", "the owner of the secret, either the application or unit")
	f.StringVar(&s.file, "file", "", "a YAML file containing secret key values")
}

// parse checks the arguments and the flags.
func (s *secretFlags) parse(args []string) error {
	for _, arg := range args {
		a, err := parseSecretArg(arg)
		if err != nil {
			return err
		}
		s.content = append(s.content, a)
	}
	if _, err := s.change(); err != nil {
		return err
	}
	if s.owner != string(model.OwnedByApplication) && s.owner != string(model.OwnedByUnit) {
		return errors.Errorf("secret owner %q not valid", s.owner)
	}
	return nil
}

// parseSecretArg takes KEY=VALUE, KEY#base64=VALUE and KEY#file=PATH apart. The
// padding of base64 is no part of what is split.
func parseSecretArg(arg string) (secretArg, error) {
	i := strings.Index(strings.TrimRight(arg, "="), "=")
	if i < 0 {
		return secretArg{}, errors.Errorf("key value %q not valid", arg)
	}
	a := secretArg{key: arg[:i], value: arg[i+1:]}
	if key, ok := strings.CutSuffix(a.key, "#base64"); ok {
		a.key, a.encoded = key, true
	} else if key, ok := strings.CutSuffix(a.key, "#file"); ok {
		a.key, a.fromFile = key, true
	}
	return a, model.CheckSecretKey(a.key)
}

// writesSecrets says whether the tool's arguments can be secrets.
func writesSecrets(tool string) bool { return tool == "secret-add" || tool == "secret-set" }

// hideRefused hides the values in the arguments of a call that is refused before
// it is known what they are: they are in its recording all the same.
func hideRefused(c *hookcontext.Context, tool string, args []string) {
	if !writesSecrets(tool) {
		return
	}
	for _, arg := range args {
		key, value, ok := strings.Cut(arg, "=")
		if !ok || strings.HasPrefix(key, "--") {
			continue
		}
		key, encoded := strings.CutSuffix(key, "#base64")
		if !encoded {
			value = base64.StdEncoding.EncodeToString([]byte(value))
		}
		c.Hide(model.SecretContent{key: value})
	}
}

// change is what the flags say, without the content.
func (s *secretFlags) change() (model.SecretChange, error) {
	c := model.SecretChange{}
	if s.label != "" {
		c.Label = &s.label
	}
	if s.description != "" {
		c.Description = &s.description
	}
	if s.rotate != "" {
		policy, err := model.ParseRotatePolicy(s.rotate)
		if err != nil {
			return c, err
		}
		c.Rotate = &policy
	}
	if s.expire != "" {
		at, err := parseExpiry(s.expire, s.ctx.Now())
		if err != nil {
			return c, err
		}
		c.Expires = &at
	}
	return c, nil
}

// parseExpiry takes a time, which is UTC if it doesn't say, or a duration.
func parseExpiry(text string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(text); err == nil {
		if d <= 0 {
			return time.Time{}, errors.Errorf("negative expire duration %q not valid", text)
		}
		return now.UTC().Add(d), nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), nil
		}
	}
	return time.Time{}, errors.Errorf("expire time or duration %q not valid", text)
}

// read reads the content that the arguments and the file give; nil: none.
func (s *secretFlags) read(c *call) (model.SecretContent, error) {
	if len(s.content) == 0 && s.file == "" {
		return nil, nil
	}
	content := model.SecretContent{}
	for _, a := range s.content {
		value := a.value
		if a.fromFile {
			text, err := readSecretFile(c, a)
			if err != nil {
				return nil, err
			}
			value = text
		}
		content[a.key] = value
		if !a.encoded {
			content[a.key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
		if len(value) > model.MaxSecretValue && !a.encoded {
			return nil, misusef("secret content for key %q too large: %d bytes", a.key, len(value))
		}
	}
	values, err := settingsFile(c, s.file)
	switch {
	case errors.Is(err, errNeedStdin):
		return nil, err
	case err != nil:
		return nil, misusef("%v", err)
	}
	for key, value := range values {
		a := secretArg{key: key}
		if plain, ok := strings.CutSuffix(key, "#base64"); ok {
			a = secretArg{key: plain, encoded: true}
		}
		if err := model.CheckSecretKey(a.key); err != nil {
			return nil, errors.WithType(err, errMisuse)
		}
		content[a.key] = value
		if !a.encoded {
			content[a.key] = base64.StdEncoding.EncodeToString([]byte(value))
		}
	}
	if err := content.Check(); err != nil {
		return nil, errors.WithType(err, errMisuse)
	}
	if len(content) == 0 {
		return nil, nil // an empty file
	}
	return content, nil
}

// readSecretFile reads the file that a value is in. A relative path is the
// caller's; the original takes it for the agent's.
func readSecretFile(c *call, a secretArg) (string, error) {
	path := a.value
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		if home, err := os.UserHomeDir(); err == nil {
			path = home + "/" + rest
		}
	}
	// One byte more than there may be, so that it is known to be too much.
	b, err := readFile(c.open, c.path(path), 16*model.MaxSecret)
	switch {
	case err != nil:
		return "", misusef("reading content for secret key %q: %v", a.key, err)
	case len(b) > model.MaxSecretValue:
		return "", misusef("secret content in file %q too large: %d bytes", a.value, len(b))
	}
	return string(b), nil
}

func misusef(format string, args ...any) error {
	return errors.WithType(fmt.Errorf(format, args...), errMisuse)
}

// secretURI takes the URI that a tool needs. A secret of another model isn't
// found, whether that model has one of that id or this one has.
func secretURI(c *hookcontext.Context, args []string) (model.SecretID, []string, error) {
	if len(args) == 0 {
		return "", nil, errors.New("missing secret URI")
	}
	id, uuid, err := model.ParseSecretURI(args[0])
	if err == nil && uuid != "" && uuid != c.ModelUUID() {
		err = errors.WithType(fmt.Errorf("secret %q not found", args[0]), errNotThere)
	}
	return id, args[1:], err
}

// readSecretURI is secretURI for who reads: that may be a secret of another model, which was
// granted along a relation. Source: docs/spec/juju-clients.md §11.7.
func readSecretURI(c *hookcontext.Context, args []string) (model.SecretID, []string, error) {
	if len(args) > 0 {
		id, uuid, err := model.ParseSecretURI(args[0])
		if err == nil && uuid != c.ModelUUID() && model.ValidModelUUID(uuid) {
			return id.Of(uuid), args[1:], nil
		}
	}
	return secretURI(c, args)
}

// decoded is a secret's content as charms see it.
func decoded(content model.SecretContent) (map[string]string, error) {
	out := make(map[string]string, len(content))
	for k, v := range content {
		b, err := base64.StdEncoding.DecodeString(v)
		if err != nil {
			return nil, errors.Errorf("the value of secret key %q is not valid base64", k)
		}
		out[k] = string(b)
	}
	return out, nil
}

func validUnit(name string) bool {
	_, err := model.ParseUnitName(name)
	return err == nil
}
