package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// archives packs the binaries of a platform, with what one reads and types beside it.
func (r *release) archives() error {
	for p, binaries := range r.binaries {
		name := fmt.Sprintf("approvalbot_%s_%s_%s", r.version, p.os, p.arch)
		var files []file
		for _, program := range binaries {
			if p.os == "windows" {
				program.name += ".exe"
			}
			files = append(files, program)
		}
		files = append(files, r.pages...)
		for _, own := range []string{"LICENSE", "README.md", "CHANGELOG.md", "config.example.yaml"} {
			text, err := os.ReadFile(filepath.Join(r.root, own))
			if err != nil {
				return err
			}
			files = append(files, file{name: own, text: text, mode: 0o644})
		}
		for i := range files {
			files[i].name = name + "/" + files[i].name
		}
		pack, ending := tarball, ".tar.gz"
		if p.os == "windows" {
			pack, ending = zipped, ".zip"
		}
		text, err := pack(files, r.at)
		if err != nil {
			return err
		}
		if err := r.write(name+ending, text); err != nil {
			return err
		}
	}
	return nil
}

// tarball packs files so that the same ones always give the same bytes.
func tarball(files []file, at time.Time) ([]byte, error) {
	plain, err := tarred(files, at)
	if err != nil {
		return nil, err
	}
	return gzipped(plain)
}

// tarred is an archive of files that belong to root, and the folders that they are in.
func tarred(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, dir := range folders(files) {
		h := &tar.Header{Typeflag: tar.TypeDir, Name: dir + "/", Mode: 0o755, ModTime: at, Format: tar.FormatUSTAR}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
	}
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.text)), ModTime: at,
			Uid: f.owner, Gid: f.owner, Format: tar.FormatUSTAR}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// folders are those that the files are in, the outer ones first.
func folders(files []file) (out []string) {
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "."; dir = path.Dir(dir) {
			out = append(out, dir)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func gzipped(plain []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

// zipped is tarball for Windows.
func zipped(files []file, at time.Time) ([]byte, error) {
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for _, f := range files {
		h := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: at}
		h.SetMode(f.mode)
		into, err := w.CreateHeader(h)
		if err != nil {
			return nil, err
		}
		if _, err := into.Write(f.text); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}
