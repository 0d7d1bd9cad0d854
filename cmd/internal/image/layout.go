package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"strings"
	"time"
)

// Media types of the blobs in the archive. The manifest, and the blobs that it names, have Docker's types.
const (
	typeIndex    = "application/vnd.oci.image.index.v1+json"
	typeManifest = "application/vnd.docker.distribution.manifest.v2+json"
	typeConfig   = "application/vnd.docker.container.image.v1+json"
	typeLayer    = "application/vnd.docker.image.rootfs.diff.tar.gzip"
)

// options say what an image is made of.
type options struct {
	tree    string // folder with the files
	version string
	arch    string    // architecture of the programs, as Go names it
	created time.Time // time of all files
}

// A descriptor refers to a blob (OCI Image Format, "Content Descriptors").
type descriptor struct {
	MediaType   string            `json:"mediaType"`
	Digest      string            `json:"digest"`
	Size        int               `json:"size"`
	Annotations map[string]string `json:"annotations,omitempty"`
	Platform    *platform         `json:"platform,omitempty"`
}

type platform struct {
	Architecture string `json:"architecture"`
	OS           string `json:"os"`
}

// manifest lists the blobs of an image (Docker's "Image Manifest Version 2, Schema 2").
type manifest struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Config        descriptor   `json:"config"`
	Layers        []descriptor `json:"layers"`
}

// index is index.json of the layout (OCI Image Format, "Image Layout").
type index struct {
	SchemaVersion int          `json:"schemaVersion"`
	MediaType     string       `json:"mediaType"`
	Manifests     []descriptor `json:"manifests"`
}

// saved is an element of manifest.json, by which versions of Docker before 25 find the image.
type saved struct {
	Config   string   `json:"Config"`
	RepoTags []string `json:"RepoTags"`
	Layers   []string `json:"Layers"`
}

// archive is the tar archive of a layout.
type archive struct {
	*tar.Writer
	created time.Time
}

// write writes the archive.
func (o *options) write(w io.Writer) error {
	var plain, packed bytes.Buffer
	if err := writeLayer(&plain, o.tree, o.created); err != nil {
		return err
	}
	zip := gzip.NewWriter(&packed)
	if _, err := zip.Write(plain.Bytes()); err != nil {
		return err
	}
	if err := zip.Close(); err != nil {
		return err
	}
	a := &archive{tar.NewWriter(w), o.created}
	layer, err := a.blob(typeLayer, packed.Bytes())
	if err != nil {
		return err
	}
	config, err := a.document(typeConfig, o.config(digest(plain.Bytes())))
	if err != nil {
		return err
	}
	image, err := a.document(typeManifest, manifest{2, typeManifest, config, []descriptor{layer}})
	if err != nil {
		return err
	}
	name := "ulnet:" + tag(o.version)
	image.Platform = &platform{o.arch, "linux"}
	image.Annotations = map[string]string{"org.opencontainers.image.ref.name": tag(o.version), "io.containerd.image.name": "docker.io/library/" + name}
	for _, f := range []struct {
		name string
		what any
	}{
		{"index.json", index{2, typeIndex, []descriptor{image}}},
		{"manifest.json", []saved{{blobPath(config.Digest), []string{name, "ulnet:latest"}, []string{blobPath(layer.Digest)}}}},
		{"oci-layout", map[string]string{"imageLayoutVersion": "1.0.0"}},
	} {
		text, err := json.Marshal(f.what)
		if err != nil {
			return err
		}
		if err := a.file(f.name, text); err != nil {
			return err
		}
	}
	return a.Close()
}

// document writes a blob of JSON.
func (a *archive) document(mediaType string, what any) (descriptor, error) {
	text, err := json.Marshal(what)
	if err != nil {
		return descriptor{}, err
	}
	return a.blob(mediaType, text)
}

// blob writes a blob.
func (a *archive) blob(mediaType string, b []byte) (descriptor, error) {
	d := descriptor{MediaType: mediaType, Digest: digest(b), Size: len(b)}
	return d, a.file(blobPath(d.Digest), b)
}

func (a *archive) file(name string, b []byte) error {
	err := a.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644, Size: int64(len(b)), ModTime: a.created, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = a.Write(b)
	return err
}

// digest returns the name of a blob.
func digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func blobPath(digest string) string { return "blobs/" + strings.Replace(digest, ":", "/", 1) }

// tag returns a version as the tag of an image, which has letters, digits, points and dashes.
func tag(version string) string {
	return strings.Map(func(r rune) rune {
		if r == '.' || r == '-' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '-'
	}, version)
}
