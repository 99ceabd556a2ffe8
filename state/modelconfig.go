package state

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/juju/errors"

	"github.com/unitd/unitd/model"
)

// The model's settings that unitd acts on.
const (
	UpdateStatusInterval = "update-status-hook-interval"
	RetryHooks           = "automatically-retry-hooks"
	HookTimeout          = "hook-timeout" // of applications that don't set their own
	// CharmhubURL is where charms by name come from: a URL, or the absolute path of a
	// directory that stands for a hub. CharmAliases is the absolute path of a file with
	// the names that stand for charms by path.
	CharmhubURL  = "charmhub-url"
	CharmAliases = "charm-aliases"
	// StatusHistoryLines is how many statuses are kept of a unit's workload, of its agent,
	// and of an application.
	StatusHistoryLines = "status-history-lines"
	// ChangesKept is how many of the model's log of changes are kept; 0: nothing is logged.
	ChangesKept = "changes-kept"
	// WarmPython has hooks that are Python run in an interpreter which has imported their
	// packages before. Source: docs/warm-python.md.
	WarmPython = "warm-python"
	// DefaultIsolation is how the units of applications are isolated for which their deployment
	// says nothing, as model.Isolation.Mode; empty: nothing is said here either.
	DefaultIsolation = "default-isolation"
	// RecordFiles is whether the recordings of hooks say which files they have changed: one of
	// RecordFilesModes.
	RecordFiles = "record-files"
)

// RecordFilesModes are the values of RecordFiles: nothing is recorded, which files, or what has
// become of text in them, too.
func RecordFilesModes() []string { return []string{"off", "names", "content"} }

// maxChangesKept bounds ChangesKept: the log is read whole.
const maxChangesKept = 100_000

// ModelConfigDefaults are the known settings with their defaults.
func ModelConfigDefaults() map[string]string {
	return map[string]string{
		UpdateStatusInterval: "5m",
		RetryHooks:           "true",
		HookTimeout:          "0s",
		"logging-config":     "<root>=INFO",
		"default-base":       "",
		CharmhubURL:          "https://api.charmhub.io",
		CharmAliases:         "",
		StatusHistoryLines:   "10",
		ChangesKept:          "1000",
		WarmPython:           "false",
		DefaultIsolation:     "",
		RecordFiles:          "off",
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
		now, err := r.settings()
		all, set = maps.Clone(now.all), maps.Clone(now.set)
		return errors.Trace(err)
	})
	return all, set, errors.Trace(err)
}

func (d docs) settings() (settings, error) {
	kv, err := d.Get(d.m.prefix() + modelConfigKey)
	if err != nil && !errors.Is(err, errors.NotFound) {
		return settings{}, errors.Trace(err)
	}
	s, err := d.m.charms.settingsOf(string(kv.Value))
	return s, errors.Trace(err)
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
	if _, fewer := set[ChangesKept]; err == nil && (fewer || slices.Contains(reset, ChangesKept)) {
		return errors.Trace(m.trimLogged(ctx))
	}
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

// CheckHub says whether a text names a hub: a URL without the API's path, or the path of
// a directory, which may be a file URL. The error is NotValid.
// Source: docs/spec/juju-clients.md §12.7.
func CheckHub(text string) error {
	if text == "" {
		return errors.NewNotValid(nil, "cannot clear "+CharmhubURL)
	}
	if filepath.IsAbs(text) || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../") || text == "." {
		return nil
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return errors.NewNotValid(nil, fmt.Sprintf("invalid %s: %v", CharmhubURL, err))
	case u.Scheme == "file" && u.Host == "" && filepath.IsAbs(u.Path):
		return nil
	case u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return errors.NewNotValid(nil, fmt.Sprintf("invalid %s: %q: expected https://HOST, or the path of a directory", CharmhubURL, text))
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/v2"):
		return errors.NewNotValid(nil, fmt.Sprintf("invalid %s: %q: leave /v2 out", CharmhubURL, text))
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
	case CharmhubURL:
		if strings.HasPrefix(v, ".") {
			return errors.NewNotValid(nil, fmt.Sprintf("invalid %s: %q: a directory is named by its absolute path", k, v))
		}
		return CheckHub(v)
	case CharmAliases:
		if v != "" && !filepath.IsAbs(v) {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not the absolute path of a file", k, v))
		}
	case StatusHistoryLines:
		if n, err := strconv.Atoi(v); err != nil || n < 1 || n > maxHistoryLines {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not a number from 1 to %d", k, v, maxHistoryLines))
		}
	case ChangesKept:
		if n, err := strconv.Atoi(v); err != nil || n < 0 || n > maxChangesKept {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not a number from 0 to %d", k, v, maxChangesKept))
		}
	case DefaultIsolation:
		if modes := model.IsolationModes(); v != "" && !slices.Contains(modes, v) {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is none of %s", k, v, strings.Join(modes, ", ")))
		}
	case RecordFiles:
		if modes := RecordFilesModes(); !slices.Contains(modes, v) {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is none of %s", k, v, strings.Join(modes, ", ")))
		}
	case RetryHooks, WarmPython, "development", "test-mode":
		if _, err := strconv.ParseBool(v); err != nil {
			return errors.NewNotValid(nil, fmt.Sprintf("%s: %q is not true or false", k, v))
		}
	}
	return nil
}
