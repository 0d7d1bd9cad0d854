//go:build linux

package installtest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"ulnet/cmd/internal/journal"
	"ulnet/lnd/lndtest/netlab"
)

// dropIns is the folder of the drop-ins of the unit.
const dropIns = "etc/systemd/system/lnetd.service.d"

// underSystemd: with a real systemd as the first process, the service does what docs/install.md says
// of it, from the installation to the purge.
func underSystemd(t *testing.T, d debian, older, newer string) {
	d.t = t
	lab := netlab.New(t)
	host, other := lab.Host("service"), lab.Host("other")
	lab.Cable(host, "10.9.3.1/24", other, "10.9.3.2/24")
	s := d.boot(host)
	before := d.contents()
	s.upgrade(older)
	remote := peer(t, d.path("usr/bin/lnetd"), other)
	defer remote.stop()

	s.starts()
	s.confined("lnetd", "0000000000000400")
	s.admits()
	s.reloads()
	s.restarts(other)
	s.watched()
	s.extended()
	s.upgraded(other, newer)
	s.purged(before)
}

// metrics are lines of the configuration of the first node.
const metrics = "metrics: 10.9.3.1:9420\n"

// served are the addresses at which the first node listens.
var served = []string{"10.9.3.1:988", "10.9.3.1:9420"}

// configure writes the configuration of a node, "" for the first one.
func (s *system) configure(node, text string) {
	s.t.Helper()
	writeFile(s.t, s.path("etc/ulnet/lnetd"+node+".yaml"), text)
}

// pings checks that the node reaches NIDs.
func (s *system) pings(nids ...string) {
	s.t.Helper()
	for _, nid := range nids {
		s.contains("- nid: "+nid, "ulnet-lnetctl", "ping", nid)
	}
}

// starts checks starts of the unit. With an error in the configuration 'systemctl start' fails, and
// systemd does not try again. Otherwise it returns when the node is ready, and the journal has the
// line "ready" with its message id.
func (s *system) starts() {
	s.t.Helper()
	if out := s.must("systemd-analyze", "verify", "--man=no", "lnetd.service", "lnetd@a.service"); out != "" {
		s.t.Errorf("the units: %s", out)
	}
	s.configure("", "networks: tcp(eth0)\nnetwork: tcp\n")
	if out, err := s.run("systemctl", "start", "lnetd"); err == nil || s.property("ActiveState", "lnetd") != "failed" || s.property("NRestarts", "lnetd") != "0" {
		s.t.Errorf("a start with an error in the configuration: %v\n%s", err, out)
	}
	s.configure("", "networks: tcp(eth0)\n"+metrics)
	s.must("systemctl", "start", "lnetd")
	s.pings("10.9.3.1@tcp", "10.9.3.2@tcp")
	s.contains("10.9.3.1@tcp", "systemctl", "status", "lnetd")
	if out, err := s.run("ulnet-lnetctl", "doctor"); !strings.Contains(out, "tcp 10.9.3.1:988 is taken by lnetd") {
		s.t.Errorf("doctor does not see that lnetd has the port: %v\n%s", err, out)
	}
	i := slices.IndexFunc(journal.IDs, func(id journal.ID) bool { return id.Text == "ready" })
	s.contains("nids=10.9.3.1@tcp", "journalctl", "--unit=lnetd", "MESSAGE_ID="+journal.IDs[i].ID)
	s.contains(journal.IDs[i].Title, "journalctl", "--unit=lnetd", "--catalog", "MESSAGE_ID="+journal.IDs[i].ID)
}

// admits checks that members of the group may look at the node and not change it, and that others
// may not look.
func (s *system) admits() {
	s.t.Helper()
	as := func(group string, args ...string) error {
		_, err := s.run(append([]string{"setpriv", "--reuid=nobody", "--regid=" + group, "--clear-groups", "ulnet-lnetctl"}, args...)...)
		return err
	}
	if err := as("lnetd", "net", "show"); err != nil {
		s.t.Error("a member of the group: ", err)
	}
	if as("lnetd", "set", "discovery", "0") == nil || as("nogroup", "net", "show") == nil {
		s.t.Error("users who may not do it control the node")
	}
}

// reloads checks that a reload applies a change before systemctl returns, and that an error changes
// nothing.
func (s *system) reloads() {
	s.t.Helper()
	pid := s.property("MainPID", "lnetd")
	s.configure("", "networks: tcp(eth0),tcp1(127.0.0.1)\n"+metrics)
	s.must("systemctl", "reload", "lnetd")
	s.pings("127.0.0.1@tcp1")
	s.configure("", "networks: tcp(eth0)\nnetwork: tcp\n")
	if out, err := s.run("systemctl", "reload", "lnetd"); err == nil {
		s.t.Errorf("a reload with an error in the configuration succeeds: %s", out)
	}
	s.pings("127.0.0.1@tcp1")
	s.configure("", "networks: tcp(eth0)\n"+metrics)
	s.must("systemctl", "reload", "lnetd")
	s.await("two sockets in the store", func() bool { return s.property("NFileDescriptorStore", "lnetd") == "2" })
	if now := s.property("MainPID", "lnetd"); now != pid {
		s.t.Errorf("a reload has started another process: %s, %s", pid, now)
	}
}

// watched checks that the watchdog of systemd ends a daemon that SIGSTOP has stopped, and starts
// another one. The stacks of the ended daemon are then in the journal.
func (s *system) watched() {
	s.t.Helper()
	writeFile(s.t, s.path(dropIns+"/watchdog.conf"), "[Service]\nWatchdogSec=10s\n")
	s.must("systemctl", "daemon-reload")
	s.must("systemctl", "restart", "lnetd")
	pid := s.property("MainPID", "lnetd")
	s.must("systemctl", "kill", "--signal=STOP", "lnetd")
	s.await("another daemon", func() bool {
		return s.property("MainPID", "lnetd") != pid && s.property("ActiveState", "lnetd") == "active"
	})
	s.pings("10.9.3.1@tcp")
	s.contains("Watchdog timeout", "journalctl", "--unit=lnetd", "_PID=1")
	s.contains("goroutine ", "journalctl", "--unit=lnetd", "_PID="+pid)
	s.contains("SIGABRT", "journalctl", "--unit=lnetd", "_PID="+pid)
	if err := os.Remove(s.path(dropIns + "/watchdog.conf")); err != nil {
		s.t.Error(err)
	}
}

// upgraded checks the upgrade to a newer package, with a second node on the host.
func (s *system) upgraded(from *netlab.Host, newer string) {
	s.t.Helper()
	s.configure("-a", "networks: tcp(127.0.0.3)\naccept_port: 989\nmetrics: /run/lnetd-a/metrics.sock\n")
	s.must("systemctl", "enable", "--now", "lnetd", "lnetd@a")
	s.contains("127.0.0.3@tcp", "ulnet-lnetctl", "--socket", "/run/lnetd-a/lnetd.sock", "net", "show")
	s.keeps(from, []string{"lnetd", "lnetd@a"}, served, func() { s.upgrade(newer) })
	s.pings("10.9.3.1@tcp", "10.9.3.2@tcp")
}

// purged checks that a purge stops the nodes, and leaves the administrator's files alone.
func (s *system) purged(before []string) {
	s.t.Helper()
	s.must("dpkg", "--purge", "ulnet")
	for _, unit := range []string{"lnetd", "lnetd@a"} {
		if state := s.property("ActiveState", unit); state != "inactive" {
			s.t.Errorf("%s is %s after the purge", unit, state)
		}
	}
	if left := s.sockets(); len(left) > 0 {
		s.t.Errorf("sockets after the purge: %v", left)
	}
	for _, dir := range []string{"run", "tmp"} {
		if left, err := filepath.Glob(filepath.Join("/proc", s.pid, "root", dir, "*lnetd*")); err != nil || len(left) > 0 {
			s.t.Errorf("after the purge: %v, %v", left, err)
		}
	}
	want := []string{"+ drwxr-x--- /etc/ulnet", "+ -rw-r--r-- /etc/ulnet/lnetd-a.yaml"}
	if left := difference(before, s.contents()); !slices.Equal(left, want) {
		s.t.Errorf("after the purge:\n%s", strings.Join(left, "\n"))
	}
}
