package state

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/juju/errors"
)

// The model's settings that unitd acts on.
const (
	UpdateStatusInterval = "update-status-hook-interval"
	RetryHooks           = "automatically-retry-hooks"
	HookTimeout          = "hook-timeout" // of applications that don't set their own
)

// ModelConfigDefaults are the known settings with their defaults.
func ModelConfigDefaults() map[string]string {
	return map[string]string{
		UpdateStatusInterval: "5m",
		RetryHooks:           "true",
		HookTimeout:          "0s",
		"logging-config":     "<root>=INFO",
		"default-base":       "",
		"development":        "false",
		"test-mode":          "false",
		"secret-backend":     "auto",
		"http-proxy":         "", "https-proxy": "", "ftp-proxy": "", "no-proxy": "127.0.0.1,localhost,::1",
		"juju-http-proxy": "", "juju-https-proxy": "", "juju-ftp-proxy": "", "juju-no-proxy": "127.0.0.1,localhost,::1",
		"apt-http-proxy": "", "apt-https-proxy": "", "apt-ftp-proxy": "", "apt-no-proxy": "",
	}
}

// ModelConfig has the model's settings: what was set laid over the defaults.
func (m *Model) ModelConfig(ctx context.Context) (all map[string]string, set map[string]bool, err error) {
	_, err = m.view(ctx, func(r docs) error {
		all, set, err = r.modelConfig()
		return errors.Trace(err)
	})
	return all, set, errors.Trace(err)
}

func (d docs) modelConfig() (map[string]string, map[string]bool, error) {
	var values map[string]string
	if _, err := d.find(modelConfigKey, &values); err != nil {
		return nil, nil, errors.Trace(err)
	}
	all, set := ModelConfigDefaults(), map[string]bool{}
	for k, v := range values {
		all[k], set[k] = v, true
	}
	return all, set, nil
}

// SetModelConfig sets and resets settings. Unknown ones are kept for whoever
// knows them. The error is NotValid for a value that isn't of its kind.
func (m *Model) SetModelConfig(ctx context.Context, set map[string]string, reset []string) error {
	if err := CheckModelConfig(set); err != nil {
		return errors.Trace(err)
	}
	_, err := m.update(ctx, func(tx *txn) error {
		values := map[string]string{}
		if _, err := tx.find(modelConfigKey, &values); err != nil {
			return errors.Trace(err)
		}
		maps.Copy(values, set)
		for _, k := range reset {
			delete(values, k)
		}
		return tx.put(modelConfigKey, values)
	})
	return errors.Annotate(err, "cannot change the model's configuration")
}

// CheckModelConfig says whether the settings have values of their kinds; the
// error is NotValid.
func CheckModelConfig(set map[string]string) error {
	for _, k := range slices.Sorted(maps.Keys(set)) {
		if err := checkModelSetting(k, set[k]); err != nil {
			return errors.Trace(err)
		}
	}
	return nil
}

func checkModelSetting(k, v string) error {
	switch k {
	case UpdateStatusInterval:
		d, err := time.ParseDuration(v)
		if err != nil || d < 0 {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not a duration like 5m", k, v))
		}
	case HookTimeout:
		return CheckHookTimeout(k, v)
	case RetryHooks, "development", "test-mode":
		if _, err := strconv.ParseBool(v); err != nil {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not true or false", k, v))
		}
	}
	return nil
}
