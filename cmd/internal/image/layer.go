package main

import (
	"archive/tar"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"time"
)

// user is the number of the user and the group lnetd in the image. Kubernetes checks by this number
// that the user is not root.
const user = 65532

// The folders that lnetd writes to. They belong to its user.
const (
	stateDir   = "var/lib/lnetd"
	runtimeDir = "run/lnetd"
)

// accounts are the files of users in the image.
var accounts = []struct{ name, text string }{
	{"etc/group", fmt.Sprintf("root:x:0:\nlnetd:x:%d:\n", user)},
	{"etc/passwd", fmt.Sprintf("root:x:0:0:root:/:/usr/sbin/nologin\nlnetd:x:%d:%[1]d:LNet node:/%s:/usr/sbin/nologin\n", user, stateDir)},
}

// taken are the files and folders of a tree that the image gets. The rest, such as units of systemd, is for hosts.
var taken = []string{"etc/ulnet/lnetd.yaml", "usr/bin", "usr/share/doc/ulnet/LICENSE", "usr/share/doc/ulnet/copyright", "usr/share/doc/ulnet/notices"}

// layer writes the files of the image as a tar archive.
type layer struct {
	*tar.Writer
	created time.Time
	have    map[string]bool // the folders that are in the archive already
}

// writeLayer writes the layer of a tree.
func writeLayer(w io.Writer, tree string, created time.Time) error {
	l := &layer{tar.NewWriter(w), created, map[string]bool{".": true}}
	for _, name := range taken {
		if err := l.copy(tree, name); err != nil {
			return err
		}
	}
	for _, a := range accounts {
		if err := l.file(a.name, 0o644, []byte(a.text)); err != nil {
			return err
		}
	}
	for _, dir := range []struct {
		name  string
		mode  int64
		owner int
	}{{stateDir, 0o700, user}, {runtimeDir, 0o755, user}, {"tmp", 0o1777, 0}} {
		if err := l.folder(dir.name, dir.mode, dir.owner); err != nil {
			return err
		}
	}
	return l.Close()
}

// copy copies a file, or a folder with its files, of the tree.
func (l *layer) copy(tree, name string) error {
	return filepath.WalkDir(filepath.Join(tree, name), func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(tree, file)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no regular file", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		mode := int64(0o644)
		if info.Mode()&0o100 != 0 {
			mode = 0o755
		}
		return l.file(filepath.ToSlash(rel), mode, text)
	})
}

// file writes a file of root, with the folders above it.
func (l *layer) file(name string, mode int64, text []byte) error {
	if err := l.folder(path.Dir(name), 0o755, 0); err != nil {
		return err
	}
	h := l.header(tar.TypeReg, name, mode, 0)
	h.Size = int64(len(text))
	if name == "usr/bin/lnetd" {
		h.PAXRecords = map[string]string{"SCHILY.xattr.security.capability": bindCapability()}
	}
	if err := l.WriteHeader(h); err != nil {
		return err
	}
	_, err := l.Write(text)
	return err
}

// folder writes a folder and the folders above it, except those that are in the archive already.
func (l *layer) folder(name string, mode int64, owner int) error {
	if l.have[name] {
		return nil
	}
	l.have[name] = true
	if err := l.folder(path.Dir(name), 0o755, 0); err != nil {
		return err
	}
	return l.WriteHeader(l.header(tar.TypeDir, name+"/", mode, owner))
}

func (l *layer) header(kind byte, name string, mode int64, owner int) *tar.Header {
	return &tar.Header{Typeflag: kind, Name: name, Mode: mode, Uid: owner, Gid: owner, ModTime: l.created, Format: tar.FormatPAX}
}

// bindCapability is the attribute of a file by which its process gets CAP_NET_BIND_SERVICE whatever
// its user is (struct vfs_cap_data of linux/capability.h, revision 2): a container runtime gives
// capabilities to root's processes only.
func bindCapability() string {
	const (
		revision2 = 0x02000000 // VFS_CAP_REVISION_2
		effective = 1          // VFS_CAP_FLAGS_EFFECTIVE
		bind      = 10         // CAP_NET_BIND_SERVICE
	)
	b := binary.LittleEndian.AppendUint32(nil, revision2|effective)
	b = binary.LittleEndian.AppendUint32(b, 1<<bind) // permitted capabilities, the low 32 bits
	return string(append(b, make([]byte, 12)...))    // inheritable capabilities, then the high 32 bits of the permitted and of the inheritable ones
}
