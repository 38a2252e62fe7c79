package main

import (
	"bytes"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// spdxPackage is a module in the list (SPDX 2.3, clause 7).
type spdxPackage struct {
	Name             string    `json:"name"`
	ID               string    `json:"SPDXID"`
	Version          string    `json:"versionInfo"`
	Download         string    `json:"downloadLocation"`
	FilesAnalyzed    bool      `json:"filesAnalyzed"`
	LicenseConcluded string    `json:"licenseConcluded"`
	LicenseDeclared  string    `json:"licenseDeclared"`
	Copyright        string    `json:"copyrightText"`
	References       []spdxRef `json:"externalRefs,omitempty"`
}

type spdxRef struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// modules writes the list of what the binaries consist of, from what the toolchain has
// written into them: each module with its version and licence, in SPDX form.
func (r *release) modules() error {
	used := map[string]*debug.Module{}
	toolchain := ""
	for p, binaries := range r.binaries {
		for _, binary := range binaries {
			info, err := buildinfo.Read(bytes.NewReader(binary.text))
			if err != nil {
				return fmt.Errorf("%s for %s/%s: %w", binary.name, p.os, p.arch, err)
			}
			toolchain = info.GoVersion
			for _, m := range info.Deps {
				used[m.Path] = m
			}
		}
	}
	var deps []*debug.Module
	for _, m := range used {
		deps = append(deps, m)
	}
	slices.SortFunc(deps, func(a, b *debug.Module) int { return strings.Compare(a.Path, b.Path) })
	packages := []spdxPackage{describe("approvalbot", r.version, "MIT"),
		describe("go", strings.TrimPrefix(toolchain, "go"), "BSD-3-Clause")}
	for _, m := range deps {
		license, err := r.licenseOf(m)
		if err != nil {
			return err
		}
		packages = append(packages, describe(m.Path, m.Version, license))
	}
	relations := []map[string]string{{
		"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": packages[0].ID,
	}}
	for _, p := range packages[1:] {
		relations = append(relations, map[string]string{
			"spdxElementId": packages[0].ID, "relationshipType": "DEPENDS_ON", "relatedSpdxElement": p.ID,
		})
	}
	document := map[string]any{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
		"name":              "approvalbot-" + r.version,
		"documentNamespace": fmt.Sprintf("urn:approvalbot:%s:%x", r.version, sha256.Sum256([]byte(r.at.String()))),
		"creationInfo":      map[string]any{"created": r.at.Format(time.RFC3339), "creators": []string{"Tool: approvalbot make release"}},
		"packages":          packages, "relationships": relations,
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return err
	}
	return r.write("approvalbot_"+r.version+"_modules.spdx.json", append(text, '\n'))
}

func describe(path, version, license string) spdxPackage {
	id := "SPDXRef-" + strings.Map(func(c rune) rune {
		if c == '.' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' {
			return c
		}
		return '-'
	}, path)
	return spdxPackage{
		Name: path, ID: id, Version: version, Download: "NOASSERTION", LicenseConcluded: license, LicenseDeclared: license,
		Copyright:  "NOASSERTION",
		References: []spdxRef{{"PACKAGE-MANAGER", "purl", "pkg:golang/" + path + "@" + version}},
	}
}

// licenses are known by a sentence that no other of them has, in this order.
var licenses = []struct{ id, sentence string }{
	{"Apache-2.0", "apache license version 2.0"},
	{"MPL-2.0", "mozilla public license version 2.0"},
	{"MIT", "permission is hereby granted, free of charge, to any person obtaining a copy"},
	{"ISC", "permission to use, copy, modify, and/or distribute this software for any purpose"},
	{"ISC", "permission to use, copy, modify, and distribute this software for any purpose"},
	{"BSD-3-Clause", "endorse or promote products derived from this software without specific prior written permission"},
	{"BSD-2-Clause", "redistributions in binary form must reproduce the above copyright notice"},
}

// licenseOf reads a module's licence. A licence that it does not know is an error: a
// person must check whether the module may be shipped.
func (r *release) licenseOf(m *debug.Module) (string, error) {
	dir, err := output(r.root, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
	if err != nil {
		return "", err
	}
	entries, err := os.ReadDir(strings.TrimSpace(dir))
	if err != nil {
		return "", err
	}
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if e.IsDir() || !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(strings.TrimSpace(dir), e.Name()))
		if err != nil {
			return "", err
		}
		plain := strings.Join(strings.Fields(strings.NewReplacer("#", " ", "*", " ", ",", " ", "\"", " ").
			Replace(strings.ToLower(string(text)))), " ")
		for _, l := range licenses {
			if strings.Contains(plain, strings.Join(strings.Fields(strings.ReplaceAll(l.sentence, ",", " ")), " ")) {
				return l.id, nil
			}
		}
	}
	return "", errors.New(m.Path + " has no licence that this program knows: look at it, then add it to licenses")
}
