package script

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// setUpBuilds lets a world, whose HOME is its own, build charms as its person
// does: with the same cache, so that what charms need is installed once for all
// worlds, and with the same settings of pip.
func setUpBuilds(env *testscript.Env) {
	for _, v := range os.Environ() {
		name, value, _ := strings.Cut(v, "=")
		upper := strings.ToUpper(name)
		own := []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "NETRC", "UNITD_CACHE"}
		if strings.HasPrefix(upper, "PIP_") || slices.Contains(own, upper) {
			env.Setenv(name, value)
		}
	}
	unset := func(name, value string) {
		if env.Getenv(name) == "" && value != "" {
			env.Setenv(name, value)
		}
	}
	if cache, err := os.UserCacheDir(); err == nil {
		unset("UNITD_CACHE", filepath.Join(cache, "unitd"))
		unset("PIP_CACHE_DIR", filepath.Join(cache, "pip"))
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return
	}
	unset("NETRC", existing(filepath.Join(home, ".netrc")))
	config, err := os.UserConfigDir()
	if err != nil {
		return
	}
	places := []string{filepath.Join(config, "pip", "pip.conf"), filepath.Join(home, ".pip", "pip.conf")}
	if runtime.GOOS == "darwin" {
		places = append(places, filepath.Join(home, ".config", "pip", "pip.conf"))
	}
	unset("PIP_CONFIG_FILE", existing(places...))
}

// existing is the first of the files that there is.
func existing(paths ...string) string {
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return path
		}
	}
	return ""
}
