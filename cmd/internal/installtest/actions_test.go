//go:build linux

package installtest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ulnet/cmd/internal/commands"
	"ulnet/lnd/lndtest/effort"
	"ulnet/lnd/lndtest/netlab"
)

// handlers is a configuration with three handlers: one runs as another user, one runs as that user until
// lnetd ends it, and one runs as root and writes to a file of that user.
const handlers = `
networks: tcp(eth0)
gossip:
  nids: ['10.9.2.[1-2]@tcp']
handlers:
  who:
    on: [gossip]
    run: [/usr/bin/id, -un]
    user: nobody
  endless:
    on: [gossip]
    run: [/bin/sleep, '1000']
    user: nobody
    timeout: 100ms
  writes:
    on: [gossip]
    run: [/bin/sh, -c, 'echo written > DIR/of-nobody']
`

// TestActionsDropIn: with the capabilities of the drop-in actions.conf, lnetd runs programs as another
// user and ends them, and programs of root can write to files of other users. Without the drop-in lnetd
// refuses such a configuration.
func TestActionsDropIn(t *testing.T) {
	if !effort.Long() {
		t.Skip("runs programs: runs with ULNET_LONG=1")
	}
	if os.Getuid() != 0 {
		t.Skip("only root starts programs as other users")
	}
	bin, err := commands.Build(t.TempDir(), "lnetd", "gossipctl")
	if err != nil {
		t.Fatal(err)
	}
	lab := netlab.New(t)
	host, other := lab.Host("a"), lab.Host("b")
	lab.Cable(host, "10.9.2.1/24", other, "10.9.2.2/24")
	dir, err := os.MkdirTemp("", "actions") // not t.TempDir, into whose parent other users than root cannot go
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	writeFile(t, filepath.Join(dir, "lnetd.yaml"), strings.ReplaceAll(handlers, "DIR", dir))
	writeFile(t, filepath.Join(dir, "of-nobody"), "")
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(filepath.Join(dir, "of-nobody"), 65534, 65534); err != nil {
		t.Fatal(err)
	}
	lnetd := func(u unit, own string) *exec.Cmd {
		args := setpriv(u)
		return exec.Command(args[0], append(args[1:], filepath.Join(bin, "lnetd"), "--config", filepath.Join(dir, "lnetd.yaml"), "--state-dir", own, "--runtime-dir", own)...)
	}
	with := readUnit(t, "lnetd.service", "actions.conf")
	with["Group"] = []string{"root"} // in the place of the group lnetd, which need not exist on this machine
	cmd := lnetd(with, dir)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "NOTIFY_SOCKET=" + filepath.Join(dir, "notify")}
	s := begin(t, cmd, host, filepath.Join(dir, "notify"))
	for handler, want := range map[string]string{"who": "nobody", "endless": "time", "writes": ""} {
		out, err := within(host, exec.Command(filepath.Join(bin, "gossipctl"), "--socket", filepath.Join(dir, "lnetd.sock"), "handlers", "test", handler))
		if (err != nil) != (handler == "endless") || !strings.Contains(out, want) {
			t.Errorf("%s: %v\n%s", handler, err, out)
		}
	}
	if text := readFile(t, filepath.Join(dir, "of-nobody")); text != "written\n" {
		t.Errorf("the file of another user: %q", text)
	}
	s.stop()

	without := readUnit(t, "lnetd.service")
	without["User"], without["Group"] = []string{"nobody"}, []string{"nogroup"} // in the place of the user and group lnetd, which need not exist on this machine
	own := filepath.Join(dir, "without")
	if err := errors.Join(os.Mkdir(own, 0o700), os.Chown(own, 65534, 65534)); err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "lnetd.yaml"), strings.ReplaceAll(strings.ReplaceAll(handlers, "DIR", dir), "user: nobody", "user: root"))
	if out, err := within(host, lnetd(without, own)); err == nil || !strings.Contains(out, "only root can run programs as root") {
		t.Errorf("without the drop-in: %v\n%s", err, out)
	}
}
