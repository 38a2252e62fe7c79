package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes a deb and an rpm for each Linux, as deploy/package/nfpm.yaml says.
func (r *release) packages() error {
	for p, binaries := range r.binaries {
		if p.os != "linux" {
			continue
		}
		if err := r.packagesOf(p, binaries); err != nil {
			return err
		}
	}
	return nil
}

func (r *release) packagesOf(p platform, binaries []file) error {
	stage, err := os.MkdirTemp("", "release-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(stage)
	if err := r.stage(stage, binaries); err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(r.root, "deploy/package/nfpm.yaml"))
	if err != nil {
		return err
	}
	variables := map[string]string{"ARCH": p.arch, "VERSION": r.version, "STAGE": stage}
	for _, format := range []string{"deb", "rpm"} {
		config, err := nfpm.ParseWithEnvMapping(bytes.NewReader(text), func(name string) string { return variables[name] })
		if err != nil {
			return err
		}
		info, err := config.Get(format)
		if err != nil {
			return err
		}
		info.MTime = r.at
		info.RPM.BuildHost = "approvalbot"
		info.Scripts = nfpm.Scripts{PostInstall: stage + "/postinst.sh", PreRemove: stage + "/prerm.sh", PostRemove: stage + "/postrm.sh"}
		for _, c := range info.Contents {
			if c.FileInfo != nil {
				c.FileInfo.MTime = r.at
			}
		}
		if err := nfpm.PrepareForPackager(nfpm.WithDefaults(info), format); err != nil {
			return err
		}
		packager, err := nfpm.Get(format)
		if err != nil {
			return err
		}
		var out bytes.Buffer
		if err := packager.Package(info, &out); err != nil {
			return fmt.Errorf("%s for %s: %w", format, p.arch, err)
		}
		if err := r.write(packager.ConventionalFileName(info), out.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// stage lays out what the packages are made of, and their scripts.
func (r *release) stage(dir string, binaries []file) error {
	files := slices.Concat(binaries, r.pages)
	for from, to := range map[string]string{
		"LICENSE": "LICENSE", "config.example.yaml": "config.example.yaml",
		"deploy/approvalbot.systemd.yaml": "approvalbot.yaml", "deploy/approvalbot.service": "approvalbot.service",
		"deploy/package/postinst.sh": "postinst.sh", "deploy/package/prerm.sh": "prerm.sh", "deploy/package/postrm.sh": "postrm.sh",
	} {
		text, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return err
		}
		files = append(files, file{name: to, text: text, mode: 0o644})
	}
	for _, f := range files {
		if f.name == "approvalbot.service" {
			var err error
			if f.text, err = packagedUnit(string(f.text)); err != nil {
				return err
			}
		}
		at := filepath.Join(dir, f.name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o755), os.WriteFile(at, f.text, f.mode)); err != nil {
			return err
		}
	}
	return nil
}

// packagedUnit is the unit for a package: it leaves out the lines on an installation by
// hand, and its program is in the directory of packaged programs.
func packagedUnit(text string) ([]byte, error) {
	_, unit, found := strings.Cut(text, "[Unit]\n")
	const byHand, packaged = "ExecStart=/usr/local/bin/", "ExecStart=/usr/bin/"
	if !found || strings.Count(unit, byHand) != 1 {
		return nil, errors.New("deploy/approvalbot.service is not as it was: no [Unit], or no " + byHand)
	}
	return []byte("[Unit]\n" + strings.Replace(unit, byHand, packaged, 1)), nil
}
