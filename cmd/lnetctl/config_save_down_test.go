package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"ulnet/cmd/internal/control"
	"ulnet/cmd/internal/node"
)

// savesNothing checks that 'config save' fails with a text, and leaves the file at the path as it is.
func savesNothing(t *testing.T, socket, want string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "lnet.conf")
	if err := os.WriteFile(path, []byte("# good\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	f := &fakeServer{socket: socket}
	if code, _, errs := f.lnetctl(t.Context(), "config", "save", path); code != 1 || !strings.Contains(errs, want) {
		t.Errorf("code %d, %q; want %q", code, errs, want)
	}
	if text, err := os.ReadFile(path); err != nil || string(text) != "# good\n" {
		t.Errorf("the file has %q, %v", text, err)
	}
}

// TestSaveWithoutLNet: while LNet is not configured on the node, 'config save' is refused: the next start would
// otherwise have no networks. It works again when LNet is configured.
func TestSaveWithoutLNet(t *testing.T) {
	n := serveText(t, "")
	n.lnetctl(t, "lnet", "unconfigure")
	savesNothing(t, n.socket, "'lnetctl lnet configure' configures it")
	n.lnetctl(t, "lnet", "configure", "--all")
	path := filepath.Join(t.TempDir(), "lnet.conf")
	n.lnetctl(t, "config", "save", path)
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "net type: tcp\n") {
		t.Errorf("%v in the file\n%s", err, text)
	}
}

// TestSaveDuringChange: 'config save' is refused while a reload runs, and also if one begins or ends while it reads the
// configuration, of which it would otherwise save a part.
func TestSaveDuringChange(t *testing.T) {
	for _, changes := range [][2]uint64{{1, 1}, {2, 3}, {3, 4}, {2, 4}} {
		n := serveText(t, "")
		asked, routes := new(atomic.Int64), n.Routes()
		for i := range routes {
			if routes[i].Path != node.OpStatus.Path {
				continue
			}
			routes[i] = node.OpStatus.Do(control.Told(func() node.Status {
				s := n.Status()
				if s.Changes = changes[0]; asked.Add(1) > 2 { // the second request is one of those that read the configuration
					s.Changes = changes[1]
				}
				return s
			}))
		}
		savesNothing(t, serveNode(t, routes, new(control.Events)), "a reload, ")
	}
}
