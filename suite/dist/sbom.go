package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"strings"
)

// sbom says, as SPDX 2.3 does, which modules are in the programs: the compiler has noted
// them there, with their checksums.
func (r release) sbom(p platform, programs []file) ([]byte, error) {
	name := fmt.Sprintf("unitd-%s-%s", r.version, p)
	packages := []any{map[string]any{
		"SPDXID": "SPDXRef-unitd", "name": "unitd", "versionInfo": r.version, "licenseDeclared": "Apache-2.0", "licenseConcluded": "Apache-2.0",
		"downloadLocation": "NOASSERTION", "copyrightText": "NOASSERTION", "filesAnalyzed": false,
	}}
	relations := []any{relation("SPDXRef-DOCUMENT", "DESCRIBES", "SPDXRef-unitd")}
	known, hash := map[string]bool{}, sha256.New()
	for _, program := range programs {
		hash.Write(program.data)
		info, err := buildinfo.Read(bytes.NewReader(program.data))
		if err != nil {
			if program.name == "unitd-hooktool-c" {
				continue // it is in C, and has nothing in it but itself
			}
			return nil, fmt.Errorf("%s: %w", program.name, err)
		}
		add := func(path, version, purl string) {
			id := "SPDXRef-" + strings.NewReplacer("/", "-", "_", "-", "+", "-", "~", "-").Replace(path+"-"+version)
			if known[id] {
				return
			}
			known[id] = true
			packages = append(packages, map[string]any{
				"SPDXID": id, "name": path, "versionInfo": version, "downloadLocation": "NOASSERTION", "licenseDeclared": "NOASSERTION",
				"licenseConcluded": "NOASSERTION", "copyrightText": "NOASSERTION", "filesAnalyzed": false,
				"externalRefs": []any{map[string]string{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl}},
			})
			relations = append(relations, relation("SPDXRef-unitd", "CONTAINS", id))
		}
		version := strings.TrimPrefix(info.GoVersion, "go")
		add("std", version, "pkg:golang/std@"+version)
		for _, m := range info.Deps {
			if m.Replace != nil {
				m = m.Replace
			}
			add(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version)
		}
	}
	out, err := json.MarshalIndent(map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
		"documentNamespace": fmt.Sprintf("https://unitd.invalid/sbom/%s/%x", name, hash.Sum(nil)),
		"creationInfo":      map[string]any{"created": "1970-01-01T00:00:00Z", "creators": []string{"Tool: unitd-dist"}},
		"packages":          packages, "relationships": relations,
	}, "", "  ")
	return append(out, '\n'), err
}

func relation(from, kind, to string) map[string]string {
	return map[string]string{"spdxElementId": from, "relationshipType": kind, "relatedSpdxElement": to}
}
