//go:build linux

package installtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"ulnet/lnd/lndtest/needs"
	"ulnet/lnd/lndtest/netlab"
	"ulnet/lnd/lndtest/spec"
)

// key is a file of keys as docs/install.md makes it.
const key = "/etc/ulnet/cluster.key"

// asked is a file in the root with the arguments of each call of the fake systemctl.
const asked = "var/lib/dpkg/asked"

// fakeSystemctl is a script in the place of systemctl, which appends its arguments to the file asked.
const fakeSystemctl = "#!/bin/sh\necho \"$*\" >> /" + asked + "\n"

// TestDeb: in a Debian root the package is installed, runs as its unit says, is scraped by Prometheus
// and shown by a browser, is upgraded, removed and purged. Only a key of the administrator is left,
// which then belongs to the user root. A fake systemctl notes what the package asks for. At last, in
// the same Debian root, the service runs under a real systemd.
func TestDeb(t *testing.T) {
	spec.Covers(t, "OP-20", "OP-22")
	d := newDebian(t, "passwd", "systemd")
	prometheus, promtool := needs.Program(t, "prometheus"), needs.Program(t, "promtool")
	browser := needs.Program(t, "chromium")
	tree := needTree(t)
	older, newer := build(t, tree, "0.0.1~dev.1", "deb")[0], build(t, tree, "0.0.1~dev.2", "deb")[0]
	// The fake systemctl and the folder run/systemd/system make a package's scripts believe that systemd
	// is running.
	writeFile(t, d.path("usr/local/bin/systemctl"), fakeSystemctl)
	if err := os.Chmod(d.path("usr/local/bin/systemctl"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(d.path("run/systemd/system"), 0o755); err != nil {
		t.Fatal(err)
	}
	before := d.contents()

	d.install(older)
	d.asked("daemon-reload")
	if info, err := os.Stat(d.path("etc/ulnet")); err != nil || info.Mode() != os.ModeDir|0o750 {
		t.Errorf("the folder of the configuration: %v, %v", info, err)
	}
	writeFile(t, d.path("etc/ulnet/lnetd.yaml"), "networks: tcp(eth0)\nmetrics: 9420\n")
	run(t, d.command("install", "-o", "lnetd", "-g", "root", "-m", "0400", "/etc/debian_version", key))

	lab := netlab.New(t)
	host, other := lab.Host("service"), lab.Host("other")
	lab.Cable(host, "10.9.0.1/24", other, "10.9.0.2/24")
	u := readUnit(t, "lnetd.service")
	remote := peer(t, d.path("usr/bin/lnetd"), other)
	s := d.start(u, host)
	s.await("WATCHDOG=1")
	d.answers(host, "10.9.0.1@tcp", "10.9.0.2@tcp")
	d.scraped(host, prometheus, promtool)
	shown(t, host, browser)
	state := readFile(t, d.path("var/lib/lnetd/incarnation"))
	d.startsAnother(host)

	d.install(newer)
	d.asked("daemon-reload", "try-restart lnetd.service lnetd@*.service")
	s.stop()
	s = d.start(u, host)
	d.answers(host, "10.9.0.1@tcp", "10.9.0.2@tcp")
	if text := readFile(t, d.path("etc/ulnet/lnetd.yaml")); !strings.Contains(text, "9420") {
		t.Errorf("the upgrade has changed the configuration: %s", text)
	}
	if now := readFile(t, d.path("var/lib/lnetd/incarnation")); now == state {
		t.Errorf("the state after the upgrade is the one before: %q", now)
	}
	s.stop()
	remote.stop()
	if err := os.Remove(d.path(notifySocket)); err != nil {
		t.Fatal(err)
	}

	d.dpkg("--remove", "ulnet")
	d.asked("stop lnetd.service lnetd@*.service", "daemon-reload")
	d.dpkg("--purge", "ulnet")
	d.asked()
	// A purge leaves the configuration of the second node, because the administrator wrote it.
	if err := os.Remove(d.path("etc/ulnet/lnetd-a.yaml")); err != nil {
		t.Error(err)
	}
	if left := difference(before, d.contents()); !slices.Equal(left, []string{"+ drwxr-x--- /etc/ulnet", "+ -r-------- " + key}) {
		t.Errorf("after the purge:\n%s", strings.Join(left, "\n"))
	}
	for _, name := range []string{"/etc/ulnet", key} {
		if owner := strings.TrimSpace(run(t, d.command("stat", "-c", "%u:%g", name))); owner != "0:0" {
			t.Errorf("%s belongs to %s after the purge", name, owner)
		}
	}
	for _, name := range []string{"usr/local/bin/systemctl", "run/systemd", "etc/ulnet"} {
		if err := os.RemoveAll(d.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("systemd", func(t *testing.T) { underSystemd(t, d, older, newer) })
}

// startsAnother starts a second node on the host by its own unit, and ends it.
func (d debian) startsAnother(on *netlab.Host) {
	d.t.Helper()
	writeFile(d.t, d.path("etc/ulnet/lnetd-a.yaml"), "networks: tcp(127.0.0.1)\n")
	u := readUnit(d.t, "lnetd@.service")
	for key, values := range u {
		for i, v := range values {
			u[key][i] = strings.ReplaceAll(v, "%i", "a")
		}
	}
	first := d.path(notifySocket)
	if err := os.Rename(first, first+"-first"); err != nil {
		d.t.Fatal(err)
	}
	s := d.start(u, on)
	out, err := within(on, d.command("ulnet-lnetctl", "--socket", "/run/lnetd-a/lnetd.sock", "ping", "127.0.0.1@tcp", "10.9.0.1@tcp"))
	if err != nil {
		d.t.Errorf("the second node: %v\n%s", err, out)
	}
	s.stop()
	if err := os.Rename(first+"-first", first); err != nil {
		d.t.Fatal(err)
	}
}

// asked checks with which arguments the package has called the fake systemctl since the last call of asked.
func (d debian) asked(want ...string) {
	d.t.Helper()
	text, err := os.ReadFile(d.path(asked))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	got := strings.FieldsFunc(string(text), func(r rune) bool { return r == '\n' })
	if !slices.Equal(got, want) {
		d.t.Errorf("systemd was asked for %q, want %q", got, want)
	}
	writeFile(d.t, d.path(asked), "")
}

// answers checks that the node of the service reaches peers, and itself.
func (d debian) answers(on *netlab.Host, peers ...string) {
	d.t.Helper()
	for _, nid := range peers {
		if out, err := within(on, d.command("ulnet-lnetctl", "ping", nid)); err != nil || !strings.Contains(out, "primary nid: "+nid) {
			d.t.Errorf("ping %s: %v\n%s", nid, err, out)
		}
	}
}

// within runs a command on a host, and returns its output.
func within(on *netlab.Host, cmd *exec.Cmd) (string, error) {
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	err := on.Start(cmd).Wait()
	return out.String(), err
}

// peer starts a node on a host, as the user root. The node accepts connections only from ports below
// 1024.
func peer(t *testing.T, lnetd string, on *netlab.Host) *service {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command(lnetd, "--networks", "tcp(eth0)", "--state-dir", dir, "--runtime-dir", dir)
	cmd.Env = []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "notify")}
	return begin(t, cmd, on, filepath.Join(dir, "notify"))
}

// scraped checks that Debian's Prometheus on the host gets the metrics of the service.
func (d debian) scraped(on *netlab.Host, prometheus, promtool string) {
	d.t.Helper()
	dir := d.t.TempDir()
	writeFile(d.t, filepath.Join(dir, "prometheus.yml"), "global: {scrape_interval: 1s}\nscrape_configs:\n  - job_name: lnetd\n    static_configs:\n      - targets: ['localhost:9420']\n")
	cmd := exec.Command(prometheus, "--config.file="+filepath.Join(dir, "prometheus.yml"), "--storage.tsdb.path="+filepath.Join(dir, "data"), "--web.listen-address=127.0.0.1:9090")
	p := on.Start(cmd)
	defer func() { _ = p.Signal(os.Kill); _ = p.Wait() }() // errors are ignored: Prometheus is not needed any more
	const query = `ulnet_ni_up{nid="10.9.0.1@tcp"} == 1 and on(instance) up{job="lnetd"} == 1`
	late := time.After(time.Minute)
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		out, err := within(on, exec.Command(promtool, "query", "instant", "http://127.0.0.1:9090", query))
		if err == nil && strings.Contains(out, "ulnet_ni_up") {
			return
		}
		select {
		case <-tick.C:
		case <-late:
			d.t.Fatalf("Prometheus has no metrics: %v\n%s", err, out)
		}
	}
}
