package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/cmd/internal/cli"
	"ulnet/lnd/lndtest/spec"
)

// newTree makes a tree as 'make tree' does, with small files.
func newTree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, mode := range map[string]os.FileMode{
		"usr/bin/lnetd": 0o755, "usr/bin/ulnet-lnetctl": 0o700, "etc/ulnet/lnetd.yaml": 0o600,
		"usr/share/doc/ulnet/LICENSE": 0o644, "usr/share/doc/ulnet/copyright": 0o644, "usr/share/doc/ulnet/notices": 0o644, "usr/lib/systemd/system/lnetd.service": 0o644,
	} {
		file := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, []byte(name), mode)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// image writes an image, and returns the archive.
func image(t *testing.T, tree string) []byte {
	t.Helper()
	var b bytes.Buffer
	o := options{tree: tree, version: "1.2.3~rc1+x", arch: "amd64", created: time.Unix(1795000000, 0).UTC()}
	if err := o.write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// entry is a file of an archive.
type entry struct {
	*tar.Header
	text []byte
}

func entries(t *testing.T, r io.Reader) (list []entry) {
	t.Helper()
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, entry{h, text})
	}
}

func decode(t *testing.T, text []byte, to any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(to); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
}

// TestLayout: the archive is an OCI image layout. From index.json on, each descriptor leads to a blob
// with its size and digest. manifest.json, which old versions of Docker read, names the same blobs.
func TestLayout(t *testing.T) {
	files := map[string][]byte{}
	for _, e := range entries(t, bytes.NewReader(image(t, newTree(t)))) {
		files[e.Name] = e.text
	}
	blob := func(d descriptor, mediaType string) []byte {
		t.Helper()
		b := files[blobPath(d.Digest)]
		if d.MediaType != mediaType || d.Size != len(b) || digest(b) != d.Digest {
			t.Fatalf("%+v is %d bytes, %s", d, len(b), digest(b))
		}
		return b
	}
	if got := string(files["oci-layout"]); got != `{"imageLayoutVersion":"1.0.0"}` {
		t.Errorf("oci-layout: %s", got)
	}
	var all index
	decode(t, files["index.json"], &all)
	if len(all.Manifests) != 1 || all.Manifests[0].Annotations["org.opencontainers.image.ref.name"] != "1.2.3-rc1-x" || *all.Manifests[0].Platform != (platform{"amd64", "linux"}) {
		t.Fatalf("index: %+v", all)
	}
	var m manifest
	decode(t, blob(all.Manifests[0], typeManifest), &m)
	var c imageConfig
	decode(t, blob(m.Config, typeConfig), &c)
	plain, err := gzip.NewReader(bytes.NewReader(blob(m.Layers[0], typeLayer)))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil || len(m.Layers) != 1 || !slices.Equal(c.RootFS.DiffIDs, []string{digest(text)}) {
		t.Errorf("%v; layers %+v, diff ids %v, want %s", err, m.Layers, c.RootFS.DiffIDs, digest(text))
	}
	var s []saved
	decode(t, files["manifest.json"], &s)
	if len(s) != 1 || s[0].Config != blobPath(m.Config.Digest) || !slices.Equal(s[0].Layers, []string{blobPath(m.Layers[0].Digest)}) || !slices.Equal(s[0].RepoTags, []string{"ulnet:1.2.3-rc1-x", "ulnet:latest"}) {
		t.Errorf("manifest.json: %+v", s)
	}
	if len(files) != 6 {
		t.Errorf("%d files", len(files))
	}
	if c.Config.User != "65532:65532" || c.Config.Healthcheck.Test[0] != "CMD" || c.Config.Healthcheck.Interval != 10*time.Second {
		t.Errorf("%+v", c.Config)
	}
}

// TestLayer: the files belong to root, and the folders that lnetd writes to belong to the image's user.
// The file lnetd has its capability. Files of the tree that only hosts need are left out.
func TestLayer(t *testing.T) {
	spec.Covers(t, "OP-23")
	var b bytes.Buffer
	if err := writeLayer(&b, newTree(t), time.Unix(1795000000, 0)); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries(t, &b) {
		line := fmt.Sprintf("%04o %d:%d %s", e.Mode, e.Uid, e.Gid, e.Name)
		if attribute, ok := e.PAXRecords["SCHILY.xattr.security.capability"]; ok {
			line += fmt.Sprintf(" %x", attribute)
		}
		if e.ModTime.Unix() != 1795000000 {
			t.Errorf("%s is of %v", e.Name, e.ModTime)
		}
		got = append(got, line)
	}
	want := []string{
		"0755 0:0 etc/", "0755 0:0 etc/ulnet/", "0644 0:0 etc/ulnet/lnetd.yaml",
		"0755 0:0 usr/", "0755 0:0 usr/bin/",
		"0755 0:0 usr/bin/lnetd 0100000200040000000000000000000000000000", "0755 0:0 usr/bin/ulnet-lnetctl",
		"0755 0:0 usr/share/", "0755 0:0 usr/share/doc/", "0755 0:0 usr/share/doc/ulnet/",
		"0644 0:0 usr/share/doc/ulnet/LICENSE", "0644 0:0 usr/share/doc/ulnet/copyright", "0644 0:0 usr/share/doc/ulnet/notices",
		"0644 0:0 etc/group", "0644 0:0 etc/passwd",
		"0755 0:0 var/", "0755 0:0 var/lib/", "0700 65532:65532 var/lib/lnetd/",
		"0755 0:0 run/", "0755 65532:65532 run/lnetd/", "1777 0:0 tmp/",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestSameBytes: the same files give the same archive, whatever their times and permissions.
func TestSameBytes(t *testing.T) {
	spec.Covers(t, "OP-22")
	tree := newTree(t)
	first := image(t, tree)
	if err := errors.Join(os.Chtimes(filepath.Join(tree, "usr/bin/lnetd"), time.Now(), time.Now()), os.Chmod(filepath.Join(tree, "usr/bin/lnetd"), 0o700)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(first, image(t, tree)) {
		t.Error("the archives differ")
	}
}

// TestIncompleteTree: a tree without a file of the image, and one with a link, are refused.
func TestIncompleteTree(t *testing.T) {
	for _, spoil := range []func(tree string) error{
		func(tree string) error { return os.Remove(filepath.Join(tree, "etc/ulnet/lnetd.yaml")) },
		func(tree string) error { return os.Symlink("/bin/sh", filepath.Join(tree, "usr/bin/sh")) },
	} {
		tree := newTree(t)
		if err := spoil(tree); err != nil {
			t.Fatal(err)
		}
		o := options{tree: tree, version: "1", arch: "amd64"}
		if err := o.write(io.Discard); err == nil {
			t.Error("it is written")
		}
	}
}

// TestCommand: the command writes the archive to a file, and leaves none if it fails.
func TestCommand(t *testing.T) {
	tree, file := newTree(t), filepath.Join(t.TempDir(), "a", "image.tar")
	args := []string{"--release", "1.2.3~rc1+x", "--arch", "amd64", "--time", "1795000000", tree, file}
	env := cli.Env{Stdin: strings.NewReader(""), Stdout: io.Discard, Stderr: t.Output(), Getenv: os.Getenv}
	if code := cli.Run(t.Context(), env, root(), args); code != cli.OK {
		t.Fatalf("exit code %d", code)
	}
	if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, image(t, tree)) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	args[len(args)-2] = t.TempDir()
	if code := cli.Run(t.Context(), env, root(), args); code != cli.Failed {
		t.Errorf("a tree without files: exit code %d", code)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("a file is left")
	}
}
