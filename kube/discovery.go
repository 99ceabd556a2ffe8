package kube

import (
	"runtime"
	"slices"
	"strings"
)

// reviewGroup is the group in which an account asks what it may do.
const reviewGroup = "authorization.k8s.io"

// Version is the release of Kubernetes that the server says it is: one whose API has
// what is answered here.
const Version = "1.32.0"

// version is what /version says.
func version() object {
	return object{
		"major": "1", "minor": "32", "gitVersion": "v" + Version + "+unitd", "gitCommit": "", "gitTreeState": "clean", "buildDate": "2024-12-11T00:00:00Z",
		"goVersion": runtime.Version(), "compiler": runtime.Compiler, "platform": runtime.GOOS + "/" + runtime.GOARCH,
	}
}

// discovered is what the server says of itself at that path; nil elsewhere.
func discovered(path string) object {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/api" || path == "/api/":
		return object{"kind": "APIVersions", "versions": list{"v1"}, "serverAddressByClientCIDRs": list{}}
	case path == "/apis" || path == "/apis/":
		groups := list{}
		for _, name := range groupNames() {
			groups = append(groups, group(name))
		}
		return object{"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
	case len(parts) == 2 && parts[0] == "api" && parts[1] == "v1":
		return resourceList("")
	case len(parts) == 2 && parts[0] == "apis" && slices.Contains(groupNames(), parts[1]):
		return group(parts[1])
	case len(parts) == 3 && parts[0] == "apis" && parts[2] == "v1" && slices.Contains(groupNames(), parts[1]):
		return resourceList(parts[1])
	}
	return nil
}

func groupNames() []string {
	var names []string
	for _, k := range kinds {
		if k.group != "" && !slices.Contains(names, k.group) {
			names = append(names, k.group)
		}
	}
	return names
}

func group(name string) object {
	v := object{"groupVersion": name + "/v1", "version": "v1"}
	return object{"kind": "APIGroup", "apiVersion": "v1", "name": name, "versions": list{v}, "preferredVersion": v}
}

func resourceList(group string) object {
	version := "v1"
	if group != "" {
		version = group + "/v1"
	}
	resources := list{}
	for _, k := range kinds {
		if k.group != group {
			continue
		}
		r := object{
			"name": k.plural, "singularName": strings.ToLower(k.name), "namespaced": !k.cluster, "kind": k.name, "verbs": k.verbs,
		}
		if k.short != "" {
			r["shortNames"] = list{k.short}
		}
		resources = append(resources, r)
	}
	return object{"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": version, "resources": resources}
}
