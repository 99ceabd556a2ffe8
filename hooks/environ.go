package hooks

import (
	"fmt"
	"slices"
	"strings"

	"github.com/unitd/unitd/model"
)

// Version is the Juju version that unitd reports to charms and scripts.
const Version = "3.6.12"

// Place is where and for whom a hook runs: what its environment is made of
// besides the hook itself. All paths are absolute.
type Place struct {
	Unit             model.UnitName
	Principal        model.UnitName // empty unless the unit is a subordinate's
	ModelName        string
	ModelUUID        string
	MachineID        string
	AvailabilityZone string
	CharmDir         string
	ToolsDir         string
	PythonDir        string // comes before ToolsDir on the PATH; empty: nothing does
	Socket           string
	ContextID        string
	APIAddresses     []string
	Proxy            Proxy
	// LegacyProxy is what any program takes for its proxy, if it is set.
	LegacyProxy Proxy
	Path        string // the agent's own PATH, put after ToolsDir
	Debian      bool   // the host is Debian, Ubuntu or derived from them
	Ubuntu      bool
	// Run is the run's number; 0: it has none.
	Run int64
	// Sidecar: the unit has workload containers. Then it is on no machine that its
	// charm could see, whatever MachineID and AvailabilityZone are.
	Sidecar bool
	// CloudAPI is the version of the cloud's API; empty on machines.
	CloudAPI string
	// Kubernetes are the agent's own variables that say where the Kubernetes API
	// is, "NAME=value"; of others than those that the contract names nothing passes.
	Kubernetes []string
	// Departure is, for a hook of what goes, why it does.
	Departure model.Departure
}

// Proxy has the model's proxy settings for charms; empty means none.
type Proxy struct{ HTTP, HTTPS, FTP, No string }

// Environ is the whole environment of a hook or task, "NAME=value" each, built from
// nothing: what isn't listed doesn't pass. Source: docs/spec/uniter-behaviour.md
// §2; the seed's JUJU_AGENT_SOCKET is kept as well (seed 004), and what begins
// with UNITD_ is unitd's own.
func Environ(i Info, p Place) []string {
	p = p.seen()
	env := []string{
		"CHARM_DIR=" + p.CharmDir,
		"JUJU_CHARM_DIR=" + p.CharmDir,
		"JUJU_CONTEXT_ID=" + p.ContextID,
		"JUJU_HOOK_NAME=" + hookName(i),
		"JUJU_AGENT_SOCKET_ADDRESS=" + p.Socket,
		"JUJU_AGENT_SOCKET_NETWORK=unix",
		"JUJU_AGENT_SOCKET=" + p.Socket,
		"JUJU_UNIT_NAME=" + string(p.Unit),
		"JUJU_PRINCIPAL_UNIT=" + string(p.Principal),
		"JUJU_MODEL_UUID=" + p.ModelUUID,
		"JUJU_MODEL_NAME=" + p.ModelName,
		"JUJU_API_ADDRESSES=" + strings.Join(p.APIAddresses, " "),
		"JUJU_SLA=unsupported",
		"JUJU_MACHINE_ID=" + p.MachineID,
		"JUJU_AVAILABILITY_ZONE=" + p.AvailabilityZone,
		"JUJU_VERSION=" + Version,
		"CLOUD_API_VERSION=" + p.CloudAPI,
		"JUJU_CHARM_HTTP_PROXY=" + p.Proxy.HTTP,
		"JUJU_CHARM_HTTPS_PROXY=" + p.Proxy.HTTPS,
		"JUJU_CHARM_FTP_PROXY=" + p.Proxy.FTP,
		"JUJU_CHARM_NO_PROXY=" + p.Proxy.No,
		"PATH=" + p.programs() + ":" + p.Path,
		"LANG=C.UTF-8",
	}
	if p.Ubuntu {
		env = append(env, "TERM=tmux-256color")
	} else {
		env = append(env, "TERM=screen")
	}
	if p.Debian {
		env = append(env, "DEBIAN_FRONTEND=noninteractive", "APT_LISTCHANGES_FRONTEND=none")
	}
	env = append(env, p.LegacyProxy.environ()...)
	env = append(env, p.Kubernetes...)
	if path := i.Path(); path != "" {
		env = append(env, "JUJU_DISPATCH_PATH="+path)
	}
	if i.HasRelation() {
		env = append(env,
			"JUJU_RELATION="+i.Endpoint,
			"JUJU_RELATION_ID="+i.RelationRef(),
			"JUJU_REMOTE_UNIT="+string(i.RemoteUnit),
			"JUJU_REMOTE_APP="+i.RemoteApp,
		)
	}
	if i.IsStorage() {
		env = append(env,
			"JUJU_STORAGE_ID="+string(i.Storage),
			"JUJU_STORAGE_LOCATION="+i.StorageLocation,
			"JUJU_STORAGE_KIND="+i.StorageKind,
		)
	}
	env = append(env, i.workloadEnviron()...)
	if i.Kind == RelationDeparted {
		env = append(env, "JUJU_DEPARTING_UNIT="+string(i.Departing))
	}
	if i.IsSecret() {
		env = append(env, "JUJU_SECRET_ID="+i.Secret.URI(), "JUJU_SECRET_LABEL="+i.SecretLabel)
	}
	if i.SecretRevision > 0 {
		env = append(env, fmt.Sprintf("JUJU_SECRET_REVISION=%d", i.SecretRevision))
	}
	if i.Kind == Action {
		env = append(env, "JUJU_ACTION_NAME="+i.Action, "JUJU_ACTION_UUID="+i.Task, "JUJU_ACTION_TAG=action-"+i.Task)
	}
	if i.Cause != "" {
		env = append(env, "UNITD_CAUSE="+i.Cause)
	}
	if p.Run > 0 {
		env = append(env, fmt.Sprintf("UNITD_RUN_NUMBER=%d", p.Run))
	}
	if i.Departs() {
		env = append(env, "UNITD_DEPARTURE="+string(p.Departure))
	}
	return env
}

// programs are the directories of the unit's own programs.
func (p Place) programs() string {
	if p.PythonDir == "" {
		return p.ToolsDir
	}
	return p.PythonDir + ":" + p.ToolsDir
}

// containerBin is where a charm container has Pebble: the agent's PATH ends with
// it. Source: docs/spec/containers.md §2.2, §4.3.
const containerBin = "/charm/bin"

// kubernetesNames are the variables that the charm gets of those in
// Place.Kubernetes. Source: docs/spec/containers.md §2.2.
var kubernetesNames = []string{
	"KUBERNETES_PORT", "KUBERNETES_PORT_443_TCP", "KUBERNETES_PORT_443_TCP_ADDR", "KUBERNETES_PORT_443_TCP_PORT",
	"KUBERNETES_PORT_443_TCP_PROTO", "KUBERNETES_SERVICE", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT",
	"KUBERNETES_SERVICE_PORT_HTTPS",
}

// seen is the place as its charm sees it: what a unit with containers has, and
// what only such a one has. Source: docs/spec/containers.md §2.2.
func (p Place) seen() Place {
	if !p.Sidecar {
		p.CloudAPI, p.Kubernetes = "", nil
		return p
	}
	p.MachineID, p.AvailabilityZone = "", ""
	if !slices.Contains(strings.Split(p.Path, ":"), containerBin) {
		p.Path = strings.TrimPrefix(p.Path+":"+containerBin, ":")
	}
	p.Kubernetes = slices.DeleteFunc(slices.Clone(p.Kubernetes), func(v string) bool {
		name, _, _ := strings.Cut(v, "=")
		return !slices.Contains(kubernetesNames, name)
	})
	return p
}

// hookName is JUJU_HOOK_NAME: there, but empty, in tasks.
func hookName(i Info) string {
	if i.IsTask() {
		return ""
	}
	return i.Name()
}

// environ is what programs look for, in both cases of letters as each looks for
// its own; nothing of what isn't set.
func (p Proxy) environ() []string {
	var env []string
	for _, v := range []struct{ name, value string }{
		{"http_proxy", p.HTTP}, {"https_proxy", p.HTTPS}, {"ftp_proxy", p.FTP}, {"no_proxy", p.No},
	} {
		if v.value != "" {
			env = append(env, v.name+"="+v.value, strings.ToUpper(v.name)+"="+v.value)
		}
	}
	return env
}
