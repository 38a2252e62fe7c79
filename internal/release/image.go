package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// descriptor names a blob of an image (OCI image specification, descriptor.md).
type descriptor struct {
	MediaType string `json:"mediaType"`
	Digest    string `json:"digest"`
	Size      int    `json:"size"`
	Platform  *place `json:"platform,omitempty"`
}

type place struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// nobody is the user id of the image, as usual in images without users.
const nobody = 65532

// image writes an archive in the OCI layout with one image for each Linux. An image contains only
// the binaries, the authorities' certificates and an empty folder for the state. It runs as a user
// who is not root, and its root file system may be read-only.
func (r *release) image() error {
	authorities, err := authorities()
	if err != nil {
		return err
	}
	blobs := map[string][]byte{}
	add := func(mediaType string, text []byte) descriptor {
		d := descriptor{MediaType: mediaType, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(text)), Size: len(text)}
		blobs[d.Digest] = text
		return d
	}
	var manifests []descriptor
	for _, p := range platforms {
		binaries := r.binaries[p]
		if p.os != "linux" || binaries == nil {
			continue
		}
		files := []file{{name: "etc/ssl/certs/ca-certificates.crt", text: authorities, mode: 0o644}}
		for _, program := range binaries {
			program.name = "usr/local/bin/" + program.name
			files = append(files, program)
		}
		layer, err := tarred(append(files, file{name: "var/lib/approvalbot/", mode: 0o700, owner: nobody}), r.at)
		if err != nil {
			return err
		}
		packed, err := gzipped(layer)
		if err != nil {
			return err
		}
		config, err := json.Marshal(r.imageConfig(p, fmt.Sprintf("sha256:%x", sha256.Sum256(layer))))
		if err != nil {
			return err
		}
		manifest, err := json.Marshal(map[string]any{
			"schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json",
			"config": add("application/vnd.oci.image.config.v1+json", config),
			"layers": []descriptor{add("application/vnd.oci.image.layer.v1.tar+gzip", packed)},
		})
		if err != nil {
			return err
		}
		d := add("application/vnd.oci.image.manifest.v1+json", manifest)
		d.Platform = &place{p.arch, p.os}
		manifests = append(manifests, d)
	}
	index, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": "application/vnd.oci.image.index.v1+json", "manifests": manifests,
	})
	if err != nil {
		return err
	}
	top := add("application/vnd.oci.image.index.v1+json", index)
	entry, err := json.Marshal(map[string]any{"schemaVersion": 2, "manifests": []any{map[string]any{
		"mediaType": top.MediaType, "digest": top.Digest, "size": top.Size,
		"annotations": map[string]string{"org.opencontainers.image.ref.name": r.version},
	}}})
	if err != nil {
		return err
	}
	files := []file{{name: "oci-layout", text: []byte(`{"imageLayoutVersion":"1.0.0"}`), mode: 0o644}, {name: "index.json", text: entry, mode: 0o644}}
	for digest, text := range blobs {
		files = append(files, file{name: "blobs/sha256/" + digest[len("sha256:"):], text: text, mode: 0o644})
	}
	slices.SortFunc(files[2:], func(a, b file) int { return strings.Compare(a.name, b.name) })
	archive, err := tarred(files, r.at)
	if err != nil {
		return err
	}
	return r.write("approvalbot_"+r.version+"_oci.tar", archive)
}

// imageConfig is how the image runs, as deploy/Dockerfile has it.
func (r *release) imageConfig(p platform, layer string) map[string]any {
	return map[string]any{
		"created": r.at.Format(time.RFC3339), "architecture": p.arch, "os": p.os,
		"config": map[string]any{
			"User": fmt.Sprintf("%d:%d", nobody, nobody), "WorkingDir": "/var/lib/approvalbot",
			"Env":          []string{"PATH=/usr/local/bin", "APPROVALBOT_SERVER=http://127.0.0.1:8787"},
			"Entrypoint":   []string{"approvalbot"},
			"Cmd":          []string{"serve"},
			"ExposedPorts": map[string]any{"8787/tcp": struct{}{}},
			"Volumes":      map[string]any{"/var/lib/approvalbot": struct{}{}},
			"Labels":       map[string]string{"org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "MIT"},
		},
		"rootfs":  map[string]any{"type": "layers", "diff_ids": []string{layer}},
		"history": []any{map[string]any{"created": r.at.Format(time.RFC3339), "created_by": "make release"}},
	}
}

// authorities are the certificates that the image trusts: Mozilla's, as the Go project
// keeps them in a module, so that they hang on no machine.
func authorities() ([]byte, error) {
	var out bytes.Buffer
	for root := range bundle.Roots() {
		if err := pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}
