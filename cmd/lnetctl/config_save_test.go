package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"ulnet/cmd/internal/config"
	"ulnet/cmd/internal/config/tree"
	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
	"ulnet/lnd/lndtest/loopback"
)

// served is a node on loopback, with the path of the control socket by which lnetctl reaches it.
type served struct {
	*node.Node
	socket string
}

// serveText starts a node whose configuration file of lnetd has the given text.
func serveText(t *testing.T, text string) served {
	t.Helper()
	port, err := loopback.FreePort(netip.MustParseAddr("127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := config.Parse("lnetd.yaml", fmt.Appendf(nil, "networks: tcp(127.0.0.1)\naccept_port: %d\n%s", port, text))
	if err != nil {
		t.Fatal(err)
	}
	n, err := node.New(node.Config{Config: cfg})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Shutdown(t.Context()) }) // an error does no harm, as no message is waiting
	return served{n, serveNode(t, n.Routes(), new(control.Events))}
}

// settings returns all settings that 'lnetctl set' can change, as text.
func (s served) settings(t *testing.T) string {
	t.Helper()
	routing := s.Routing()
	text, err := json.Marshal(map[string]any{
		"global": node.GlobalTree(s.Status()), "routing": routing.Mode, "buffers": routing.Config,
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// lnetctl runs a command against the node, and fails the test if the command fails.
func (s served) lnetctl(t *testing.T, args ...string) {
	t.Helper()
	f := &fakeServer{socket: s.socket}
	if code, out, errs := f.lnetctl(t.Context(), args...); code != 0 {
		t.Fatalf("lnetctl %s: code %d, %s%s", strings.Join(args, " "), code, out, errs)
	}
}

// restarted starts another node, with the same file of lnetd and with the settings that the
// first node has saved.
func (s served) restarted(t *testing.T, text string) served {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lnet.conf")
	s.lnetctl(t, "config", "save", path)
	saved, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Read(saved)
	if err != nil {
		t.Fatal(err)
	}
	next := serveText(t, text)
	if r := tree.Apply(t.Context(), next.Editor(), tree.AddMissing, f); len(r.Errs) > 0 {
		t.Fatalf("%v in\n%s", r.Errs, saved)
	}
	return next
}

// unusual returns two values of a setting: one that differs from the default, and the default.
func unusual(t *testing.T, name string) (unusual, usual int64) {
	t.Helper()
	for _, s := range tree.NodeSettings() {
		switch {
		case s.Name != name:
		case s.Usual < s.Most:
			return s.Usual + 1, s.Usual
		default:
			return s.Usual - 1, s.Usual
		}
	}
	switch name {
	case "routing":
		return 1, 0
	case "tiny_buffers", "small_buffers", "large_buffers":
		return 77, 0
	}
	t.Fatalf("%s is none of tree.NodeSettings", name)
	return 0, 0
}

// TestSaveSettings: every setting that 'lnetctl set' has changed has the same value again after
// 'config save' and a restart.
func TestSaveSettings(t *testing.T) {
	n := serveText(t, "")
	for _, s := range settables {
		before, value := n.settings(t), int64(0)
		value, _ = unusual(t, s.name)
		n.lnetctl(t, "set", s.name, fmt.Sprint(value))
		if n.settings(t) == before && s.name != "recovery_interval" { // recovery_interval has no effect, as in kernels
			t.Errorf("set %s %d changed nothing", s.name, value)
		}
	}
	if got, want := n.restarted(t, "").settings(t), n.settings(t); got != want {
		t.Errorf("after the restart\n%s\nwant\n%s", got, want)
	}
}

// TestSaveUsual is the reverse of TestSaveSettings: lnetd's own file has other values than the defaults.
// Settings that are changed back to the defaults at run time keep these after a restart.
func TestSaveUsual(t *testing.T) {
	text := "routing: {enable: 1, tiny: 77, small: 77, large: 77}\n"
	for _, s := range tree.NodeSettings() {
		value, _ := unusual(t, s.Name)
		if s.Inverse {
			value = 1 - value
		}
		text += fmt.Sprintf("%s: %d\n", s.Key, value)
	}
	n := serveText(t, text)
	told := n.settings(t)
	for _, s := range settables {
		_, value := unusual(t, s.name)
		n.lnetctl(t, "set", s.name, fmt.Sprint(value))
	}
	if n.settings(t) == told {
		t.Error("nothing was set back")
	}
	if got, want := n.restarted(t, text).settings(t), n.settings(t); got != want {
		t.Errorf("after the restart\n%s\nwant\n%s", got, want)
	}
}

// TestReplaceLinked: the file that a symbolic link names is replaced, and the link stays.
func TestReplaceLinked(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "file"), filepath.Join(dir, "link")
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("file", link); err != nil {
		t.Fatal(err)
	}
	if err := replaceFile(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "file" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
}

// TestReplaceDangling: if the file that a symbolic link names does not exist yet, it is created, and
// the link stays. Links that lead to each other are refused, and stay.
func TestReplaceDangling(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{"first": "sub/second", "sub/second": "../file", "loop": "pool", "pool": "loop"}
	for link, to := range links {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := replaceFile(filepath.Join(dir, "first"), []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "file")); err != nil || string(text) != "new" {
		t.Errorf("the file has %q, %v", text, err)
	}
	if err := replaceFile(filepath.Join(dir, "loop"), []byte("new")); err == nil {
		t.Error("a file was written to links that lead to each other")
	}
	for link, want := range links {
		if to, err := os.Readlink(filepath.Join(dir, link)); err != nil || to != want {
			t.Errorf("%s leads to %q, %v", link, to, err)
		}
	}
}

// TestReplaceFileKeepsDevices: only regular files are replaced, also behind links: for root
// 'config save /dev/null' would otherwise replace the device.
func TestReplaceFileKeepsDevices(t *testing.T) {
	dir := t.TempDir()
	pipe, link := filepath.Join(dir, "pipe"), filepath.Join(dir, "link")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink("pipe", link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, link, dir} {
		if err := replaceFile(path, []byte("new")); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s: error %v", path, err)
		}
	}
	if is, err := os.Lstat(pipe); err != nil || is.Mode()&fs.ModeNamedPipe == 0 {
		t.Errorf("the pipe is %v now, %v", is, err)
	}
}

// TestReplaceFileLike: a file that only its owner and its group may read stays theirs: lnetd could otherwise
// not read its configuration after root has saved it.
func TestReplaceFileLike(t *testing.T) {
	path, group := filepath.Join(t.TempDir(), "lnetd.yaml"), os.Getegid()
	if err := os.WriteFile(path, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if os.Geteuid() == 0 {
		group = 987 // the test runs as root, which may give files to any group
		if err := os.Chown(path, 986, group); err != nil {
			t.Fatal(err)
		}
	}
	was, _ := os.Stat(path)
	if err := replaceFile(path, []byte("new")); err != nil {
		t.Fatal(err)
	}
	is, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	old, now := was.Sys().(*syscall.Stat_t), is.Sys().(*syscall.Stat_t)
	if is.Mode() != 0o640 || now.Uid != old.Uid || int(now.Gid) != group {
		t.Errorf("mode %v, owner %d, group %d; want those of %v, %d, %d", is.Mode(), now.Uid, now.Gid, was.Mode(), old.Uid, group)
	}
}
