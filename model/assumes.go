package model

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/juju/errors"

	"github.com/unitd/unitd/pattern"
)

// The features that a charm can assume a model to have.
const (
	FeatureJuju   = "juju"    // its version is that of Juju
	FeatureK8sAPI = "k8s-api" // its version is that of Kubernetes
)

// Assumption is something that a charm wants of where it is deployed: one feature,
// or a list of which any or all must hold.
type Assumption struct {
	Feature string `json:"feature,omitempty"`
	// Compare is ">=" or "<" with Version; empty: any version.
	Compare string       `json:"compare,omitempty"`
	Version string       `json:"version,omitempty"`
	AnyOf   []Assumption `json:"any-of,omitempty"`
	AllOf   []Assumption `json:"all-of,omitempty"`
}

var (
	assumption     = pattern.New(`^([a-z][a-z0-9-]*)(?:\s*(>=|<)\s*(\S+))?$`)
	featureVersion = pattern.New(`^([0-9]{1,9})(?:\.([0-9]{1,9}))?(?:\.([0-9]{1,9}))?(?:-?([a-z]+)([0-9]{1,9}))?(?:\.([0-9]{1,9}))?$`)
)

// ParseAssumption reads a feature, "k8s-api", or one with a version,
// "juju >= 3.1". Errors are NotValid.
func ParseAssumption(text string) (Assumption, error) {
	m := assumption.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil || m[3] != "" && !featureVersion.MatchString(m[3]) {
		return Assumption{}, errors.NewNotValid(nil, fmt.Sprintf(`invalid assumption %q: expected a feature such as k8s-api, or one with a version such as "juju >= 3.1"`, text))
	}
	return Assumption{Feature: m[1], Compare: m[2], Version: m[3]}, nil
}

// CheckAssumes says which assumptions don't hold where features, with their
// versions by name, are what there is. The error is NotValid, and has several
// lines with the contract's texts. Source: docs/spec/containers.md §1.3.
func CheckAssumes(all []Assumption, features map[string]string) error {
	var unmet []string
	for _, a := range all {
		unmet = append(unmet, a.unmet(features)...)
	}
	if len(unmet) == 0 {
		return nil
	}
	return errors.NewNotValid(nil, "Charm cannot be deployed because:\n  - "+strings.Join(unmet, "\n  - "))
}

// unmet are the reasons why it doesn't hold, none if it does.
func (a Assumption) unmet(features map[string]string) []string {
	switch {
	case len(a.AnyOf) > 0:
		return unmetAny(a.AnyOf, features)
	case a.Feature == "":
		var reasons []string
		for _, b := range a.AllOf {
			reasons = append(reasons, b.unmet(features)...)
		}
		return reasons
	}
	have, ok := features[a.Feature]
	name := a.Feature
	if name == FeatureJuju {
		name = "Juju"
	}
	switch {
	case !ok && a.Feature == FeatureK8sAPI:
		return []string{"charm must be deployed on a Kubernetes cloud"}
	case !ok:
		return []string{fmt.Sprintf("charm requires feature %q but model does not support it", a.Feature)}
	case a.Compare == "", (compareVersions(have, a.Version) < 0) == (a.Compare == "<"):
		return nil
	}
	return []string{fmt.Sprintf("charm requires %s version %s %s, model has version %s", name, a.Compare, a.Version, have)}
}

func unmetAny(any []Assumption, features map[string]string) []string {
	var reasons []string
	for _, b := range any {
		r := b.unmet(features)
		if len(r) == 0 {
			return nil
		}
		for _, line := range r {
			reasons = append(reasons, strings.ReplaceAll(line, "\n", "\n  "))
		}
	}
	return []string{"charm requires at least one of these, and none holds:\n    - " + strings.Join(reasons, "\n    - ")}
}

// compareVersions orders versions as "3.6", "3.6.4", "3.6-beta2" and "3.6.4.1";
// what comes before a release is less than it.
func compareVersions(a, b string) int { return slices.Compare(versionParts(a), versionParts(b)) }

// versionParts are the numbers of a version in the order of their weight.
func versionParts(text string) []int {
	m := featureVersion.FindStringSubmatch(text)
	if m == nil {
		return nil
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // 0 for none, as it should be
		return n
	}
	// The release itself comes after what is named before it; letters are in the
	// order of the field: alpha, beta, rc.
	tag := 1 << 8
	if m[4] != "" {
		tag = int(m[4][0])
	}
	return []int{number(1), number(2), number(3), tag, number(5), number(6)}
}
